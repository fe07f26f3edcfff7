#include "bts_records.h"

#include <algorithm>
#include <cstring>

namespace hodo::session {
namespace {

template <class Word>
struct Record {
  Word from;
  Word to;
  Word flags;
};

// Records looked at to tell the layouts apart.
constexpr std::size_t kProbed = 1024;

bool canonical(std::uint64_t address) {
  const auto high = static_cast<std::int64_t>(address) >> 47;
  return high == 0 || high == -1;
}

// How many of the first records could be ones, in per cent; 0 where there is none.
std::size_t likeness(std::span<const std::uint8_t> bytes, hw::DsLayout layout) {
  ByteReader in(bytes);
  std::size_t seen = 0;
  std::size_t good = 0;
  while (seen < kProbed) {
    const auto record = hw::read_bts_record(in, layout);
    if (!record) break;
    ++seen;
    const bool flags = (record->flags & ~hw::bts_flags::kPredicted) == 0;
    if (flags && canonical(record->from) && canonical(record->to)) ++good;
  }
  return seen == 0 ? 0 : 100 * good / seen;
}

}  // namespace

Result<hw::DsLayout> detect_layout(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kCertain = 90;
  const std::size_t wide = likeness(bytes, hw::DsLayout::bits64);
  const std::size_t narrow = likeness(bytes, hw::DsLayout::bits32);
  if (std::max(wide, narrow) < kCertain) {
    return fail(ErrorCode::malformed,
                "these do not look like BTS records of 24 or of 12 bytes; if they are, say which "
                "with --record-size");
  }
  return wide >= narrow ? hw::DsLayout::bits64 : hw::DsLayout::bits32;
}

// The hot loop: a copy with checks. Gives the bytes taken, all but a record that is cut off.
template <class Word>
std::size_t BtsRecords::add_whole(std::span<const std::uint8_t> bytes, std::uint64_t offset) {
  const std::size_t whole = bytes.size() - bytes.size() % sizeof(Record<Word>);
  for (std::size_t at = 0; at < whole; at += sizeof(Record<Word>)) {
    Record<Word> record{};
    std::memcpy(&record, bytes.data() + at, sizeof(record));
    const bool predicted = (record.flags & hw::bts_flags::kPredicted) != 0;
    path_.set_offset(offset + at);
    path_.add({.from = record.from,
               .to = record.to,
               .flags = static_cast<std::uint8_t>(predicted ? 0 : kMispredicted)});
  }
  return whole;
}

void BtsRecords::add(std::span<const std::uint8_t> bytes, std::uint64_t offset) {
  const auto add_all = [this](std::span<const std::uint8_t> records, std::uint64_t at) {
    return layout_ == hw::DsLayout::bits64 ? add_whole<std::uint64_t>(records, at)
                                           : add_whole<std::uint32_t>(records, at);
  };
  if (begun_size_ != 0) {
    const std::size_t taken = std::min(size_ - begun_size_, bytes.size());
    std::ranges::copy(bytes.first(taken), begun_.begin() + begun_size_);
    begun_size_ += taken;
    bytes = bytes.subspan(taken);
    offset += taken;
    if (begun_size_ < size_) return;
    begun_size_ = 0;
    add_all(std::span(begun_).first(size_), offset - size_);
  }
  bytes = bytes.subspan(add_all(bytes, offset));
  std::ranges::copy(bytes, begun_.begin());
  begun_size_ = bytes.size();
}

std::size_t BtsRecords::cut() {
  const std::size_t size = begun_size_;
  begun_size_ = 0;
  return size;
}

}  // namespace hodo::session
