#include "code_pieces.h"

#include <algorithm>
#include <optional>
#include <utility>

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

// All of them lie in the text, and padding between. `left`: so many are still looked at.
bool fits(const std::vector<Function>& pieces, std::uint64_t base, const TextMap& text,
          std::uint64_t& left) {
  const auto code = text.bytes(base);
  if (code.size() < pieces.back().end) return false;
  bool padded = false;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    if (left == 0) return false;
    --left;
    const std::uint64_t last = pieces[i - 1].end;
    const std::uint64_t gap = pieces[i].begin - last;
    if (!is_padding(code.subspan(last, gap))) return false;
    padded = padded || gap != 0;
  }
  return padded;
}

// What instructions name: LEA REG, [RIP + distance], wherever one may begin.
std::vector<std::uint64_t> named(const TextMap& text) {
  constexpr std::size_t kLength = 7;
  std::vector<std::uint64_t> out;
  for (const auto& stretch : text.stretches()) {
    const auto code = text.bytes(stretch.begin);
    for (std::size_t at = 0; at + kLength <= code.size(); ++at) {
      const bool leads = code[at + 1] == 0x8d && (code[at] & 0xfb) == 0x48;  // REX.W, REX.WR
      if (!leads || (code[at + 2] & 0xc7) != 5) continue;
      const auto distance = ByteReader(code.subspan(at + 3)).read<std::int32_t>().value_or(0);
      const std::uint64_t target =
          stretch.begin + at + kLength + static_cast<std::uint64_t>(std::int64_t{distance});
      if (text.contains(target)) out.push_back(target);
    }
  }
  std::ranges::sort(out);
  const auto again = std::ranges::unique(out);
  out.erase(again.begin(), again.end());
  return out;
}

// Where pieces of code may begin.
class Bases {
 public:
  Bases(std::span<const std::uint64_t> taken, const TextMap& text) : taken_(taken), text_(text) {}

  std::optional<std::uint64_t> of(const std::vector<Function>& pieces) {
    std::uint64_t all = ~std::uint64_t{0};
    if (const auto base = find(taken_, pieces, all)) return base;
    if (!std::exchange(looked_, true)) named_ = named(text_);
    return find(named_, pieces, left_);
  }

 private:
  static constexpr std::uint64_t kMostTried = std::uint64_t{1} << 28;  // pieces

  std::optional<std::uint64_t> find(std::span<const std::uint64_t> bases,
                                    const std::vector<Function>& pieces,
                                    std::uint64_t& left) const {
    const auto base = std::ranges::find_if(
        bases, [&](std::uint64_t address) { return fits(pieces, address, text_, left); });
    return base == bases.end() ? std::nullopt : std::optional(*base);
  }

  std::span<const std::uint64_t> taken_;
  const TextMap& text_;
  std::uint64_t left_ = kMostTried;  // by what instructions name
  bool looked_ = false;
  std::vector<std::uint64_t> named_;
};

// `left`: so many tables are still looked at.
std::vector<Function> table_at(const Words& words, std::size_t first, Bases& bases,
                               std::size_t& left) {
  for (std::size_t stride = kLeastStride; stride <= kMostStride; ++stride) {
    std::vector<Function> pieces = entries(words, first, stride);
    if (pieces.size() < kFewestPieces || left == 0) continue;
    --left;
    const auto base = bases.of(pieces);
    if (!base) continue;
    for (Function& piece : pieces) piece = {piece.begin + *base, piece.end + *base};
    return pieces;
  }
  return {};
}

}  // namespace

std::vector<Function> code_pieces(const ElfBytes& elf, std::span<const std::uint64_t> taken,
                                  const TextMap& text) {
  std::size_t left = kMostTables;
  Bases bases(taken, text);
  for (const image::Segment& segment : elf.elf().segments) {
    const auto bytes = elf.of(segment);
    const std::size_t before = (kPieceWord - segment.vaddr % kPieceWord) % kPieceWord;
    if (segment.executable || bytes.size() < before + kFewestPieces * kLeastStride * kPieceWord)
      continue;
    const Words words(bytes.subspan(before));
    const std::size_t last = words.size() - kFewestPieces * kLeastStride;
    for (std::size_t first = 0; first <= last; ++first) {
      if (words.at(first) != 0 || words.at(first + 1) == 0) continue;
      std::vector<Function> pieces = table_at(words, first, bases, left);
      if (!pieces.empty()) return pieces;
    }
  }
  return {};
}

}  // namespace hodo::text
