#include "function_texts.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "function_code.h"
#include "hodo/base/numbers.h"

namespace hodo::analyze {
namespace {

constexpr std::uint64_t kMostAtOnce = std::uint64_t{1} << 20;  // bytes of a piece
constexpr std::uint64_t kMostBetween = 1 << 10;                // and of what is no function's in it
constexpr std::size_t kMostReserved = std::size_t{256} << 20;  // a file may say what it wants
constexpr std::uint64_t kCountsVersion = 1;

// One for each function, from write_counts() or from what somebody made up.
std::optional<std::vector<std::uint32_t>> read_counts(std::span<const std::uint8_t> bytes,
                                                      const FunctionTexts& texts) {
  NumberReader in(bytes);
  if (in.number() != kCountsVersion) return std::nullopt;
  std::vector<std::uint32_t> out(texts.size());
  // A block has a byte at least.
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::uint32_t>(in.number(texts[i].size()));
  }
  if (!in.good() || !in.at_end()) return std::nullopt;
  return out;
}

std::vector<std::uint8_t> write_counts(std::span<const std::uint32_t> counts) {
  NumberWriter out;
  out.number(kCountsVersion);
  for (const std::uint32_t count : counts) out.number(count);
  return out.take();
}

}  // namespace

FunctionTexts::FunctionTexts(std::span<const symbol::Symbol* const> functions, isa::Mode mode,
                             const Read& read)
    : functions_(functions), mode_(mode) {
  begin_key();
  while (!functions.empty()) {
    const std::uint64_t start = functions.front()->start;
    std::uint64_t end = start + functions.front()->size;
    std::size_t near = 1;
    for (; near < functions.size(); ++near) {
      const symbol::Symbol& next = *functions[near];
      if (next.start - end > kMostBetween || next.start + next.size - start > kMostAtOnce) break;
      end = next.start + next.size;
    }
    add(functions.first(near), read);
    functions = functions.subspan(near);
  }
  end_key();
}

void FunctionTexts::begin_key() {
  constexpr std::string_view kWhat = "blocks";
  NumberWriter out;
  out.text(kWhat);
  out.number(static_cast<std::uint64_t>(mode_));
  out.number(size());
  std::uint64_t last = 0;
  std::size_t code = 0;
  for (const symbol::Symbol* const one : functions_) {
    out.step(last, one->start);
    out.number(one->size);
    last = one->start;
    code += static_cast<std::size_t>(one->size);
  }
  bytes_ = out.take();
  bytes_.reserve(bytes_.size() + std::min(code + code / 8, kMostReserved));  // with gaps
}

void FunctionTexts::add(std::span<const symbol::Symbol* const> near, const Read& read) {
  const std::uint64_t start = near.front()->start;
  const std::size_t begin = bytes_.size();
  bytes_.resize(begin + static_cast<std::size_t>(near.back()->start + near.back()->size - start));
  const auto piece = std::span(bytes_).subspan(begin);
  const bool whole = read(start, piece) == piece.size();
  for (const symbol::Symbol* const one : near) {
    const auto at = static_cast<std::size_t>(one->start - start);
    auto size = static_cast<std::size_t>(one->size);
    if (!whole) size = read(one->start, piece.subspan(at, size));
    places_.push_back({.begin = begin + at, .size = size});
  }
  bytes_.resize(places_.back().begin + places_.back().size);
}

// How much there is of those that are not whole.
void FunctionTexts::end_key() {
  NumberWriter out;
  for (std::size_t i = 0; i < size(); ++i) {
    if (places_[i].size == functions_[i]->size) continue;
    out.number(i);
    out.number(places_[i].size);
  }
  const std::vector<std::uint8_t> short_ones = out.take();
  bytes_.insert(bytes_.end(), short_ones.begin(), short_ones.end());
}

std::vector<std::uint32_t> FunctionTexts::block_counts(symbol::LineStore* store) const {
  if (store != nullptr) {
    if (const auto bytes = store->load(bytes_)) {
      if (auto counts = read_counts(*bytes, *this)) return *std::move(counts);
    }
  }
  std::vector<std::uint32_t> counts;
  for (std::size_t i = 0; i < size(); ++i) {
    const FunctionCode parts = take_apart((*this)[i], functions_[i]->start, mode_, {});
    counts.push_back(static_cast<std::uint32_t>(parts.blocks.size()));
  }
  if (store != nullptr) store->store(bytes_, write_counts(counts));
  return counts;
}

}  // namespace hodo::analyze
