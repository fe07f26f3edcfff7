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

}  // namespace

// The hot loop: a copy with checks. Gives the bytes taken, all but a record that is cut off.
template <class Word>
std::size_t BtsRecords::add_whole(std::span<const std::uint8_t> bytes, std::uint64_t offset) {
  const std::size_t whole = bytes.size() - bytes.size() % sizeof(Record<Word>);
  for (std::size_t at = 0; at < whole; at += sizeof(Record<Word>)) {
    Record<Word> record;
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
