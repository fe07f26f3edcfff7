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
  const std::uint64_t head = header().record_head.load(std::memory_order_acquire);
  const std::uint64_t there = head - record_read_;
  if (damaged_ || there == 0) return std::nullopt;
  Record record;
  const std::uint8_t* at = memory_.records() + record_read_ % kRecordBytes;
  std::memcpy(&record.header, at, sizeof(record.header));
  const std::size_t fixed = fixed_bytes(record.header.type);
  const std::size_t before = sizeof(record.header) + fixed;
  // Measured from what was released: an honest process cannot be further ahead, and another one
  // could keep the reader busy for ever.
  if (head - record_released_ > kRecordBytes || record.header.size > there ||
      record.header.size % 8 != 0 || record.header.size < before ||
      record.header.payload > record.header.size - before) {
    damaged_ = true;
    return std::nullopt;
  }
  record.fixed = {at + sizeof(record.header), fixed};
  record.payload = {at + before, record.header.payload};
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

std::optional<Stack> ChannelReader::take_stack(std::span<const std::uint8_t>& bytes) const {
  if (damaged_ || bytes.empty()) return std::nullopt;
  auto stack = relay::take_stack(bytes);
  damaged_ = !stack;
  return stack;
}

void ChannelReader::release_records() {
  if (record_read_ == record_released_) return;
  record_released_ = record_read_;
  header().record_tail.store(record_read_, std::memory_order_release);
  wake_process();
}

}  // namespace hodo::relay
