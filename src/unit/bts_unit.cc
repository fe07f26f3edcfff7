#include "hodo/unit/bts_unit.h"

#include <algorithm>
#include <array>

namespace hodo::unit {

void BtsUnit::start(const BtsControl& control) {
  control_ = control;
  state_ = State::off;
  place_ = 0;
  os_ = !control.skip_os;
  wanted_ = control.skip_user ? 0 : kAllBranches;
  digest_ = RecordDigest(control.key);
  remains_ = control.remains != nullptr ? control.remains : &aside_digest_;
  reload();
}

void BtsUnit::stop() {
  if (state_ == State::open) store_index();
  os_ = false;
  wanted_ = 0;
  park(State::off);
}

// Records go aside from here on. Slow: and service() looks at each.
void BtsUnit::park(State state) {
  if (state_ == State::open) place_ = place_of(cursor_);
  state_ = state;
  in_buffer_ = digest_;
  cursor_ = reinterpret_cast<std::uint8_t*>(&aside_);
  limit_ = state == State::slow ? cursor_ : cursor_ + sizeof(aside_);
  index_ = reinterpret_cast<std::uint8_t*>(&aside_index_);
}

// Reads the DS area; false if there is no buffer that records could go to.
bool BtsUnit::load() {
  if (control_.memory == nullptr) return false;
  const auto bytes = control_.memory->at(control_.ds_area, hw::ds_area_bytes(control_.layout));
  const auto area = hw::read_ds_area(bytes, control_.layout);
  const std::size_t record = hw::bts_record_bytes(control_.layout);
  if (!area || !area->bts.is_sound(record)) return false;
  buffer_ = area->bts;
  // Only whole records are written.
  buffer_.maximum -= (buffer_.maximum - buffer_.base) % record;
  const std::uint64_t size = buffer_.maximum - buffer_.base;
  host_base_ = control_.memory->at(buffer_.base, size).data();
  index_ = bytes.data() + hw::bts_index_offset(control_.layout);
  return host_base_ != nullptr;
}

void BtsUnit::reload() {
  if (state_ == State::open) place_ = place_of(cursor_);
  const bool usable = load();
  const bool narrow = control_.layout == hw::DsLayout::bits32;
  if (!usable || narrow || !control_.interrupts || buffer_.index >= buffer_.maximum) {
    return park(State::slow);
  }
  state_ = State::open;
  cursor_ = host_base_ + (buffer_.index - buffer_.base);
  to_place_ = place_ - reinterpret_cast<std::uintptr_t>(cursor_);
  to_address_ = buffer_.base - reinterpret_cast<std::uintptr_t>(host_base_);
  const std::uint64_t limit = std::clamp(buffer_.threshold, buffer_.base, buffer_.maximum);
  limit_ = host_base_ + (limit - buffer_.base);
}

// The record that was written aside is in no buffer yet.
void BtsUnit::leave_aside() {
  digest_ = in_buffer_;
  __atomic_store_n(remains_, digest_.value(), __ATOMIC_RELEASE);
}

void BtsUnit::service(std::uint64_t wanted) {
  if (state_ == State::slow) {
    const hw::BtsRecord record = aside_;
    leave_aside();
    park(State::slow);
    if (wanted != 0) put_slowly(record);
    return;
  }
  if (state_ == State::off) {
    leave_aside();
    return park(State::off);
  }
  if (wanted == 0) return;
  drain();
  buffer_.index = reinterpret_cast<std::uintptr_t>(cursor_) + to_address_;
  advance();
}

// As the processor does it: reads the DS area for this one record.
void BtsUnit::put_slowly(const hw::BtsRecord& record) {
  if (!load()) {
    ++dropped_;
    return park(State::slow);
  }
  if (buffer_.index >= buffer_.maximum && !control_.interrupts) buffer_.index = buffer_.base;
  const std::size_t size = hw::bts_record_bytes(control_.layout);
  if (buffer_.index >= buffer_.maximum) {
    ++dropped_;
  } else {
    hw::write_bts_record(record, control_.layout,
                         {host_base_ + (buffer_.index - buffer_.base), size});
    digest_.add(place_, record.from, record.to, record.flags);
    place_ += sizeof(hw::BtsRecord);
    __atomic_store_n(remains_, digest_.value(), __ATOMIC_RELEASE);
    buffer_.index += size;
    set_index(buffer_.index);
  }
  advance();
}

// The index has moved (or could not): wraps it, raises the interrupt, and finds out how to go on.
void BtsUnit::advance() {
  if (!control_.interrupts && buffer_.index >= buffer_.maximum) set_index(buffer_.base);
  if (control_.interrupts && buffer_.index >= buffer_.threshold && control_.interrupt != nullptr) {
    control_.interrupt(control_.owner);
    if (state_ == State::off) return;
  }
  reload();
}

void BtsUnit::set_index(std::uint64_t index) {
  std::memcpy(index_, &index, hw::word_bytes(control_.layout));
}

}  // namespace hodo::unit
