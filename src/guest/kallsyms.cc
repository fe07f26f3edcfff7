#include "hodo/guest/kallsyms.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

namespace hodo::guest {
namespace {

using Bytes = std::span<const std::uint8_t>;

// The order in memory, each part on an 8-byte boundary (write_src in scripts/kallsyms.c):
//   up to Linux 6.3:  offsets, relative_base, num_syms, names, markers, token_table, token_index
//   from 6.4 on:      num_syms, names, markers, token_table, token_index, offsets, relative_base
// From 6.2 on, and in later 6.1, seqs_of_names stands somewhere behind markers. names: for each
// symbol a length (ULEB128 of up to two bytes) and as many token numbers. markers: where every
// 256th name begins. token_index: where each token begins in token_table.
constexpr std::size_t kTokens = 256;
constexpr std::size_t kPerMarker = 256;
constexpr std::uint64_t kKernelHalf = 0xffff'8000'0000'0000;

template <class T>
std::optional<T> at(Bytes image, std::size_t offset) {
  T value{};
  if (offset > image.size() || image.size() - offset < sizeof(value)) return std::nullopt;
  std::memcpy(&value, image.data() + offset, sizeof(value));
  return value;
}

constexpr std::size_t align8(std::size_t offset) { return (offset + 7) & ~std::size_t{7}; }

struct Tokens {
  std::size_t start = 0;  // of token_table in the image
  std::size_t end = 0;    // behind token_index
  std::array<std::string_view, kTokens> text;
};

// The tokens from `start` on, if token_index behind them says the same.
std::optional<Tokens> tokens_at(Bytes image, std::size_t start) {
  Tokens out{.start = start};
  std::array<std::uint16_t, kTokens> index{};
  std::size_t position = start;
  for (std::size_t i = 0; i < kTokens; ++i) {
    index[i] = static_cast<std::uint16_t>(position - start);
    const auto* text = reinterpret_cast<const char*>(image.data()) + position;
    const std::size_t length = strnlen(text, image.size() - position);
    if (length == image.size() - position || position - start > 0xffff) return std::nullopt;
    out.text[i] = {text, length};
    position += length + 1;
  }
  position = align8(position);
  out.end = position + sizeof(index);
  if (out.end > image.size()) return std::nullopt;
  const bool same = std::memcmp(image.data() + position, index.data(), sizeof(index)) == 0;
  return same ? std::optional(out) : std::nullopt;
}

// Digits stand for themselves: they occur in names, and their codes are never free for tokens.
std::optional<Tokens> find_tokens(Bytes image) {
  static constexpr std::uint8_t kDigits[] = {'0', 0, '1', 0, '2', 0, '3', 0, '4', 0,
                                             '5', 0, '6', 0, '7', 0, '8', 0, '9', 0};
  for (auto from = image.begin();;) {
    const auto found = std::search(from, image.end(), std::begin(kDigits), std::end(kDigits));
    if (found == image.end()) return std::nullopt;
    from = found + 1;
    // Back over the tokens before '0', to where they may begin.
    auto start = static_cast<std::size_t>(found - image.begin());
    for (unsigned ends = 0; start > 0 && ends <= '0';) {
      ends += image[--start] == 0 ? 1 : 0;
      if (ends != '0' || start % 8 != 0) continue;
      if (auto tokens = tokens_at(image, start)) return tokens;
    }
  }
}

struct Names {
  std::size_t start = 0;  // of names in the image; num_syms stands 8 bytes before
  std::size_t end = 0;
  std::uint32_t count = 0;
};

// Bytes of the name's tokens; `position` moves to them. 0: there is no name.
std::size_t name_length(Bytes image, std::size_t& position, std::size_t end) {
  if (position >= end) return 0;
  std::size_t length = image[position++];
  if ((length & 0x80) != 0 && position < end) {
    length = (length & 0x7f) | std::size_t{image[position++]} << 7;
  }
  return length <= end - position ? length : 0;
}

// `count` names from `start` on, if the markers behind them agree.
std::optional<Names> names_at(Bytes image, std::size_t start, std::size_t end,
                              std::uint32_t count) {
  std::size_t position = start;
  std::size_t second_marker = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i == kPerMarker) second_marker = position - start;
    const std::size_t length = name_length(image, position, end);
    if (length == 0) return std::nullopt;
    position += length;
  }
  const std::size_t markers = align8(position);
  if (at<std::uint32_t>(image, markers) != 0) return std::nullopt;
  if (at<std::uint32_t>(image, markers + 4) != second_marker) return std::nullopt;
  return Names{start, position, count};
}

// They lie somewhere before the tokens, behind their number, which is all that can be searched for.
std::optional<Names> find_names(Bytes image, const Tokens& tokens) {
  constexpr std::uint32_t kFewest = kPerMarker + 1, kMost = 1 << 22;
  for (std::size_t start = tokens.start; start >= 8; start -= 8) {
    const auto count = *at<std::uint64_t>(image, start - 8);
    if (count < kFewest || count > kMost) continue;
    if (auto found = names_at(image, start, tokens.start, static_cast<std::uint32_t>(count))) {
      return found;
    }
  }
  return std::nullopt;
}

struct Addresses {
  std::size_t offsets = 0;  // in the image
  std::uint64_t base = 0;

  // CONFIG_KALLSYMS_ABSOLUTE_PERCPU: what is not negative is an absolute value.
  std::uint64_t of(Bytes image, std::uint32_t symbol) const {
    const auto offset = *at<std::int32_t>(image, offsets + std::size_t{symbol} * 4);
    if (offset >= 0) return static_cast<std::uint32_t>(offset);
    return base - 1 - static_cast<std::uint64_t>(static_cast<std::int64_t>(offset));
  }
};

std::optional<Addresses> find_addresses(Bytes image, const Tokens& tokens, const Names& names) {
  const std::size_t size = align8(std::size_t{names.count} * 4);
  if (const std::size_t base = names.start - 16; names.start >= 16 && base >= size) {
    if (at<std::uint64_t>(image, base) >= kKernelHalf) {
      return Addresses{base - size, *at<std::uint64_t>(image, base)};
    }
  }
  const auto base = at<std::uint64_t>(image, align8(tokens.end) + size);
  if (base && *base >= kKernelHalf) return Addresses{align8(tokens.end), *base};
  return std::nullopt;
}

}  // namespace

Result<std::vector<KernelSymbol>> read_kallsyms(std::span<const std::uint8_t> image) {
  const auto tokens = find_tokens(image);
  const auto names = tokens ? find_names(image, *tokens) : std::nullopt;
  const auto addresses = names ? find_addresses(image, *tokens, *names) : std::nullopt;
  if (!addresses) return fail(ErrorCode::not_found, "no kallsyms table in the kernel's memory");
  std::vector<KernelSymbol> out;
  out.reserve(names->count);
  std::size_t position = names->start;
  for (std::uint32_t i = 0; i < names->count; ++i) {
    const std::size_t length = name_length(image, position, names->end);
    std::string text;
    for (const std::uint8_t token : image.subspan(position, length)) text += tokens->text[token];
    position += length;
    if (text.empty()) return fail(ErrorCode::malformed, "kallsyms has an empty name", position);
    out.push_back({addresses->of(image, i), text[0], text.substr(1)});
  }
  return out;
}

}  // namespace hodo::guest
