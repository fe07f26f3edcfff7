// The recorder's reading of sideband records, which the program under test could have forged.
#include <algorithm>
#include <cstring>

#include "hodo/relay/channel.h"

namespace hodo::relay {
namespace {

std::size_t fixed_bytes(RecordType type) {
  switch (type) {
    case RecordType::map:
      return sizeof(MapRecord);
    case RecordType::code:
      return sizeof(CodeRecord);
    case RecordType::mark:
      return sizeof(MarkRecord);
    case RecordType::end:
      return sizeof(EndRecord);
    case RecordType::cache:
      return sizeof(CacheRecord);
    case RecordType::guest_task:
    case RecordType::guest_exit:
    case RecordType::guest_switch:
      return sizeof(GuestTask);
    case RecordType::guest_fork:
      return sizeof(GuestFork);
    case RecordType::guest_map:
      return sizeof(GuestMap);
    case RecordType::guest_code:
      return sizeof(GuestCode);
    case RecordType::guest_symbol:
      return sizeof(GuestSymbol);
    default:
      return 0;
  }
}

}  // namespace

std::optional<Record> ChannelReader::next_record() {
  const std::span<const std::uint8_t> rest =
      std::span(sideband_).subspan(record_read_ - record_released_);
  if (rest.empty()) return std::nullopt;
  Record record;
  const bool header = rest.size() >= sizeof(record.header);
  if (header) std::memcpy(&record.header, rest.data(), sizeof(record.header));
  const std::size_t fixed = fixed_bytes(record.header.type);
  const std::size_t before = sizeof(record.header) + fixed;
  if (!header || record.header.size > rest.size() || record.header.size % 8 != 0 ||
      record.header.size < before || record.header.payload > record.header.size - before) {
    found("a record that no trace unit writes");
    sideband_.resize(record_read_ - record_released_);
    return std::nullopt;
  }
  record.fixed = rest.subspan(sizeof(record.header), fixed);
  record.payload = rest.subspan(before, record.header.payload);
  record_read_ += record.header.size;
  return record;
}

std::optional<Stack> take_stack(std::span<const std::uint8_t>& bytes) {
  Stack stack;
  if (bytes.size() < sizeof(stack.sample)) return std::nullopt;
  std::memcpy(&stack.sample, bytes.data(), sizeof(stack.sample));
  const auto rest = bytes.subspan(sizeof(stack.sample));
  if (stack.sample.entries > std::min(kMaxStack, rest.size() / sizeof(StackEntry))) {
    return std::nullopt;
  }
  stack.entries = rest.first(stack.sample.entries * sizeof(StackEntry));
  bytes = rest.subspan(stack.entries.size());
  return stack;
}

void ChannelReader::release_records() {
  if (record_read_ == record_released_) return;
  sideband_.erase(sideband_.begin(),
                  sideband_.begin() + static_cast<std::ptrdiff_t>(record_read_ - record_released_));
  record_released_ = record_read_;
  header().record_tail.store(record_read_, std::memory_order_release);
  wake_process();
}

}  // namespace hodo::relay
