// The branch trace store of the software trace unit: executed branches in, records in the DS area's
// BTS buffer out (Intel SDM vol. 3, "Branch Trace Store (BTS)" and "BTS and DS Save Area"). It
// behaves as the registers and the DS area in memory say, and does not know who wrote those.
//
// Hot path: take(), a few nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hodo/hw/bts.h"
#include "hodo/hw/ds_area.h"
#include "hodo/unit/block.h"
#include "hodo/unit/digest.h"
#include "hodo/unit/executed_branch.h"

namespace hodo::unit {

struct BtsControl {
  std::uint64_t ds_area = 0;  // IA32_DS_AREA
  hw::DsMemory* memory = nullptr;
  hw::DsLayout layout = hw::DsLayout::bits64;
  bool interrupts = false;  // BTINT: interrupt at the threshold; else the buffer is circular
  bool skip_os = false;     // BTS_OFF_OS: branches that CPL 0 executes
  bool skip_user = false;   // BTS_OFF_USR: those of other levels
  // Called when a record brings the index to the threshold or beyond, if BTINT is set: the
  // performance monitoring interrupt. It may run the handler at once, and may stop or start the
  // unit. When it returns the DS area is read again.
  void (*interrupt)(void* owner) = nullptr;
  void* owner = nullptr;
  // Where the digest of the records in the buffer is left after each, for a reader who does not
  // believe the buffer; and what it begins with. May be null.
  std::uint64_t* remains = nullptr;
  std::uint64_t key = 0;
};

class BtsUnit {
 public:
  BtsUnit() { park(State::off); }
  // The hot path points into the object itself; a copy is started anew.
  BtsUnit(const BtsUnit&) = delete;
  BtsUnit& operator=(const BtsUnit&) = delete;

  // TR and BTS were set: reads the DS area and records from here on. A DS area or buffer that is
  // not mapped or not sound (see DsBuffer) leaves nowhere to write to: records are dropped until
  // the area is in order.
  void start(const BtsControl& control);
  // TR or BTS was cleared.
  void stop();
  // The index counts all records from here on, and other processors see them (SFENCE), as in the
  // interrupt handler. take() leaves both behind.
  void drain() {
    store_index();
    asm volatile("sfence" ::: "memory");
  }
  // Software changed the DS area while the unit was recording.
  void reload();

  // The last instruction of `from`, executed at CPL 3, went to `to`; `taken` is 1, or 0 for a
  // conditional branch that fell through. Instructions that are no branches are passed over.
  [[gnu::always_inline]] void take(const Block& from, std::uint64_t to, std::uint64_t taken) {
    put(from.source(), to, hw::bts_flags::kPredicted, taken & contains(wanted_, from.cls));
  }
  // Any other branch.
  void branch(const ExecutedBranch& b) {
    if (b.from_cpl == 0 ? !os_ : wanted_ == 0) return;
    put(b.from, b.to, b.mispredicted ? 0 : hw::bts_flags::kPredicted, 1);
    store_index();
  }

  bool recording() const { return state_ != State::off; }
  // Of all records that are in the buffer, or were (RecordDigest).
  std::uint64_t digest() const { return digest_.value(); }
  // Records since the object was made, and those of them that found no room: the interrupt handler
  // was late, or the DS area unusable.
  std::uint64_t dropped() const { return dropped_; }

 private:
  // What a record does beyond being written. `open`: nothing, until the limit. A circular buffer's
  // oldest record must stay whole, so that is never open.
  enum class State : std::uint8_t { off, open, slow };

  [[gnu::always_inline]] void put(std::uint64_t from, std::uint64_t to, std::uint64_t flags,
                                  std::uint64_t wanted) {
    // What is not wanted is written, too, for the next record to overwrite: cheaper than a jump
    // that is as hard to predict as the program's own.
    std::uint8_t* const at = cursor_;
    store(at + offsetof(hw::BtsRecord, from), from);
    store(at + offsetof(hw::BtsRecord, to), to);
    store(at + offsetof(hw::BtsRecord, flags), flags);
    std::uint8_t* const next = at + wanted * sizeof(hw::BtsRecord);
    cursor_ = next;
    digest_.add(place_of(at), from, to, flags, wanted);
    __atomic_store_n(remains_, digest_.value(), __ATOMIC_RELEASE);
    if (next >= limit_) [[unlikely]]
      service(wanted);
  }

  // Past the caches (MOVNTI): nobody reads a record here, so its line need not be read before it is
  // written, and the program's own lines stay.
  [[gnu::always_inline]] static void store(std::uint8_t* at, std::uint64_t word) {
    asm volatile("movnti %1, %0" : "=m"(*reinterpret_cast<std::uint64_t*>(at)) : "r"(word));
  }

  std::uint64_t place_of(const std::uint8_t* at) const {
    return reinterpret_cast<std::uintptr_t>(at) + to_place_;
  }
  void store_index() {
    const std::uint64_t index = reinterpret_cast<std::uintptr_t>(cursor_) + to_address_;
    std::memcpy(index_, &index, sizeof(index));
  }

  void park(State state);
  bool load();
  void service(std::uint64_t wanted);
  void leave_aside();
  void put_slowly(const hw::BtsRecord& record);
  void advance();
  void set_index(std::uint64_t index);

  std::uint8_t* cursor_ = nullptr;  // where the next record goes
  std::uint8_t* limit_ = nullptr;   // service() is due when the cursor reaches it
  std::uint8_t* index_ = nullptr;   // bts_index in the DS area; or aside_index_
  RecordDigest digest_;
  std::uint64_t* remains_ = &aside_digest_;
  std::uint64_t to_place_ = 0;    // from an address of ours to the record's place in the digest
  std::uint64_t to_address_ = 0;  // from an address of ours to the linear address that it has
  InsnClassSet wanted_ = 0;       // of user code: all branches, or none
  bool os_ = false;
  State state_ = State::off;
  // In State::slow and off everything goes here first.
  hw::BtsRecord aside_;
  std::uint64_t aside_index_ = 0;
  std::uint64_t aside_digest_ = 0;
  RecordDigest in_buffer_;  // without the record that is aside

  // --- cold ---
  BtsControl control_;
  hw::DsBuffer buffer_;  // as last read; the index is older than the cursor in State::open
  std::uint8_t* host_base_ = nullptr;
  std::uint64_t place_ = 0;  // of the next record, while none is open
  std::uint64_t dropped_ = 0;
};

}  // namespace hodo::unit
