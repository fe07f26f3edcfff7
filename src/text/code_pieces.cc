#include "code_pieces.h"

#include <algorithm>

#include "hodo/base/byte_reader.h"

namespace hodo::text {
namespace {

constexpr std::size_t kPieceWord = sizeof(std::uint32_t);
constexpr std::size_t kFewestPieces = 128;  // fewer may be anything
constexpr std::uint32_t kWidestGap = 256;   // bytes of padding
constexpr std::size_t kLeastStride = 2;     // words of an entry
constexpr std::size_t kMostStride = 4;
// Of a file that looks as if it had ever more of them, each of which is held against all addresses.
constexpr std::size_t kMostTables = 1 << 10;

// Words of 32 bits, wherever they lie.
class Words {
 public:
  explicit Words(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  std::size_t size() const { return bytes_.size() / kPieceWord; }
  std::uint32_t at(std::size_t i) const {
    return ByteReader(bytes_.subspan(i * kPieceWord)).read<std::uint32_t>().value_or(0);
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

// The entries from word `first` on, as distances.
std::vector<Function> entries(const Words& words, std::size_t first, std::size_t stride) {
  std::vector<Function> out;
  for (std::size_t i = first; words.size() - i >= 2; i += stride) {
    const std::uint64_t begin = words.at(i);
    const std::uint64_t end = begin + words.at(i + 1);
    const std::uint64_t last = out.empty() ? 0 : out.back().end;
    if (end == begin || begin < last || begin - last > kWidestGap) break;
    out.push_back({begin, end});
    if (words.size() - i <= stride) break;
  }
  return out;
}

bool is_padding(std::span<const std::uint8_t> bytes) {
  constexpr std::uint8_t kInt3 = 0xcc;
  return std::ranges::all_of(bytes, [](std::uint8_t b) { return b == kInt3 || b == 0; });
}

// All of them lie in the text, and padding between.
bool fits(const std::vector<Function>& pieces, std::uint64_t base, const TextMap& text) {
  const auto code = text.bytes(base);
  if (code.size() < pieces.back().end) return false;
  bool padded = false;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    const std::uint64_t last = pieces[i - 1].end;
    const std::uint64_t gap = pieces[i].begin - last;
    if (!is_padding(code.subspan(last, gap))) return false;
    padded = padded || gap != 0;
  }
  return padded;
}

// `left`: so many tables are still looked at.
std::vector<Function> table_at(const Words& words, std::size_t first,
                               std::span<const std::uint64_t> taken, const TextMap& text,
                               std::size_t& left) {
  for (std::size_t stride = kLeastStride; stride <= kMostStride; ++stride) {
    std::vector<Function> pieces = entries(words, first, stride);
    if (pieces.size() < kFewestPieces || left == 0) continue;
    --left;
    const auto base = std::ranges::find_if(
        taken, [&](std::uint64_t address) { return fits(pieces, address, text); });
    if (base == taken.end()) continue;
    for (Function& piece : pieces) piece = {piece.begin + *base, piece.end + *base};
    return pieces;
  }
  return {};
}

}  // namespace

std::vector<Function> code_pieces(const ElfBytes& elf, std::span<const std::uint64_t> taken,
                                  const TextMap& text) {
  std::size_t left = kMostTables;
  for (const image::Segment& segment : elf.elf().segments) {
    const auto bytes = elf.of(segment);
    const std::size_t before = (kPieceWord - segment.vaddr % kPieceWord) % kPieceWord;
    if (segment.executable || bytes.size() < before + kFewestPieces * kLeastStride * kPieceWord)
      continue;
    const Words words(bytes.subspan(before));
    const std::size_t last = words.size() - kFewestPieces * kLeastStride;
    for (std::size_t first = 0; first <= last; ++first) {
      if (words.at(first) != 0 || words.at(first + 1) == 0) continue;
      std::vector<Function> pieces = table_at(words, first, taken, text, left);
      if (!pieces.empty()) return pieces;
    }
  }
  return {};
}

}  // namespace hodo::text
