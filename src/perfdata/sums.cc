#include "hodo/perfdata/sums.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace hodo::perfdata {
namespace {

consteval std::array<std::uint32_t, 256> crc_table() {
  constexpr std::uint32_t kPolynomial = 0x82f63b78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}

std::uint32_t through_table(std::uint32_t crc, std::span<const std::uint8_t> bytes) {
  static constexpr auto kTable = crc_table();
  for (const std::uint8_t byte : bytes) crc = crc >> 8 ^ kTable[(crc ^ byte) & 0xff];
  return crc;
}

[[gnu::target("sse4.2")]] std::uint32_t through_instruction(std::uint32_t crc,
                                                            std::span<const std::uint8_t> bytes) {
  std::uint64_t wide = crc;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    wide = __builtin_ia32_crc32di(wide, word);
    bytes = bytes.subspan(8);
  }
  crc = static_cast<std::uint32_t>(wide);
  for (const std::uint8_t byte : bytes) crc = __builtin_ia32_crc32qi(crc, byte);
  return crc;
}

// Of three blocks of so many bytes at once: the instruction's result is there after three cycles,
// and each cycle one can begin.
[[gnu::target("sse4.2")]] void three_blocks(const std::uint8_t* at, std::uint32_t block,
                                            std::array<std::uint32_t, 3>& to) {
  std::uint64_t a = 0xffffffff, b = a, c = a;
  const auto word = [](const std::uint8_t* from) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, sizeof(value));
    return value;
  };
  for (std::uint32_t i = 0; i < block; i += 8) {
    a = __builtin_ia32_crc32di(a, word(at + i));
    b = __builtin_ia32_crc32di(b, word(at + block + i));
    c = __builtin_ia32_crc32di(c, word(at + 2 * std::size_t{block} + i));
  }
  to = {~static_cast<std::uint32_t>(a), ~static_cast<std::uint32_t>(b),
        ~static_cast<std::uint32_t>(c)};
}

// Of blocks that are in the file as a whole. Where the file is cut off is told elsewhere.
std::uint64_t whole_blocks(const AuxSums& sums) {
  if (sums.data_size == sums.written_size) return blocks_of(sums.data_size, sums.block);
  return sums.data_size / sums.block;
}

Result<std::vector<std::uint32_t>> read_sums(const Reader& file, const AuxSums& sums,
                                             std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(count));
  const std::span bytes(reinterpret_cast<std::uint8_t*>(out.data()),
                        out.size() * sizeof(std::uint32_t));
  Status status = file.read(sums.offset + first * sizeof(std::uint32_t), bytes);
  if (!status) return std::unexpected(status.error());
  return out;
}

}  // namespace

bool has_crc_instruction() {
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
}

std::uint32_t crc32c(std::span<const std::uint8_t> bytes, std::uint32_t before,
                     bool by_instruction) {
  return ~(by_instruction ? through_instruction(~before, bytes) : through_table(~before, bytes));
}

void BlockSums::add(std::span<const std::uint8_t> bytes) {
  while (!bytes.empty()) {
    if (filled_ == 0 && block_ % 8 == 0 && bytes.size() / 3 >= block_ && has_crc_instruction()) {
      std::array<std::uint32_t, 3> three{};
      three_blocks(bytes.data(), block_, three);
      sums_.insert(sums_.end(), three.begin(), three.end());
      bytes = bytes.subspan(3 * std::size_t{block_});
      continue;
    }
    const auto part = bytes.first(std::min<std::size_t>(bytes.size(), block_ - filled_));
    sum_ = crc32c(part, sum_);
    filled_ += static_cast<std::uint32_t>(part.size());
    bytes = bytes.subspan(part.size());
    if (filled_ < block_) continue;
    sums_.push_back(std::exchange(sum_, 0));
    filled_ = 0;
  }
}

std::vector<std::uint32_t> BlockSums::finish() {
  if (filled_ != 0) sums_.push_back(sum_);
  return std::move(sums_);
}

std::uint64_t blocks_of(std::uint64_t size, std::uint32_t block) {
  return size / block + (size % block != 0 ? 1 : 0);
}

SumCheck::SumCheck(const Reader& file, const AuxPiece& piece, Stretch stretch)
    : file_(&file), piece_(&piece), found_(std::max<std::uint32_t>(piece.sums.block, 1)) {
  const AuxSums& sums = piece.sums;
  if (sums.block == 0) return;
  begin_ = piece.file_offset - sums.data_offset + stretch.begin;
  end_ = begin_ + stretch.size;
  first_ = begin_ / sums.block;
  last_ = std::max(first_, std::min(whole_blocks(sums), blocks_of(end_, sums.block)));
}

Result<SumCheck> SumCheck::begin(const Reader& file, const AuxPiece& piece, Stretch stretch) {
  SumCheck check(file, piece, stretch);
  const Status status = check.add_from_file(check.first_ * piece.sums.block, check.begin_);
  if (!status) return std::unexpected(status.error());
  return check;
}

Status SumCheck::add_from_file(std::uint64_t begin, std::uint64_t end) {
  if (first_ == last_ || begin >= end) return {};
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(end - begin));
  if (Status status = file_->read(piece_->sums.data_offset + begin, bytes); !status) return status;
  found_.add(bytes);
  return {};
}

void SumCheck::add(std::span<const std::uint8_t> bytes) {
  if (first_ != last_) found_.add(bytes);
}

Result<std::vector<Stretch>> SumCheck::finish() {
  std::vector<Stretch> out;
  if (first_ == last_) return out;
  const AuxSums& sums = piece_->sums;
  // A block less than its size is the data's last.
  const std::uint64_t whole = std::min(last_ * sums.block, sums.data_size);
  if (Status status = add_from_file(end_, whole); !status) return std::unexpected(status.error());
  const auto written = read_sums(*file_, sums, first_, last_ - first_);
  if (!written) return std::unexpected(written.error());
  const std::vector<std::uint32_t> found = found_.finish();
  const std::uint64_t piece_begin = piece_->file_offset - sums.data_offset;
  for (std::size_t i = 0; i < written->size(); ++i) {
    if (found[i] == (*written)[i]) continue;
    const std::uint64_t block = (first_ + i) * sums.block;
    const std::uint64_t from = std::max(block, begin_) - piece_begin;
    const std::uint64_t to = std::min(block + sums.block, end_) - piece_begin;
    if (!out.empty() && out.back().begin + out.back().size == from) {
      out.back().size = to - out.back().begin;
    } else if (from < to) {
      out.push_back({from, to - from});
    }
  }
  return out;
}

Result<std::vector<Stretch>> altered(const Reader& file, const AuxPiece& piece) {
  constexpr std::uint64_t kAtOnce = 1 << 20;
  if (piece.sums.block == 0) return std::vector<Stretch>{};
  auto check = SumCheck::begin(file, piece, {0, piece.size});
  if (!check) return std::unexpected(check.error());
  std::vector<std::uint8_t> bytes;
  for (std::uint64_t at = 0; at < piece.size; at += bytes.size()) {
    bytes.resize(static_cast<std::size_t>(std::min(kAtOnce, piece.size - at)));
    const Status status = file.read(piece.file_offset + at, bytes);
    if (!status) return std::unexpected(status.error());
    check->add(bytes);
  }
  return check->finish();
}

}  // namespace hodo::perfdata
