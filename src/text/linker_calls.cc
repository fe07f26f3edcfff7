#include "linker_calls.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hodo/image/unwind_tables.h"

namespace hodo::text {
namespace {

// Places in the file's data.
using Range = image::FunctionRange;

std::vector<Range> arrays_of(const ElfBytes& elf) {
  constexpr std::array<std::pair<std::int64_t, std::int64_t>, 3> kArrays = {
      {{DT_PREINIT_ARRAY, DT_PREINIT_ARRAYSZ},
       {DT_INIT_ARRAY, DT_INIT_ARRAYSZ},
       {DT_FINI_ARRAY, DT_FINI_ARRAYSZ}}};
  std::vector<Range> out;
  for (const auto& [begin, size] : kArrays) {
    const std::uint64_t at = elf.dynamic(begin).value_or(0);
    const std::uint64_t most =
        std::min<std::uint64_t>(elf.dynamic(size).value_or(0), elf.file().size());
    if (at != 0) out.push_back({at, at + most / elf.word_size() * elf.word_size()});
  }
  return out;
}

// What is in an array before anything is relocated.
void add_words(const ElfBytes& elf, const Range& array, std::vector<std::uint64_t>& out) {
  for (std::uint64_t at = array.begin; at < array.end; at += elf.word_size()) {
    if (const auto word = elf.word(at)) out.push_back(*word);
  }
}

}  // namespace

std::vector<std::uint64_t> linker_calls(const ElfBytes& elf,
                                        std::span<const Relocation> relocations) {
  std::vector<std::uint64_t> out;
  for (const std::int64_t tag : {DT_INIT, DT_FINI}) out.push_back(elf.dynamic(tag).value_or(0));
  const std::vector<Range> arrays = arrays_of(elf);
  for (const Range& array : arrays) add_words(elf, array, out);
  for (const Relocation& r : relocations) {
    const bool listed = std::ranges::any_of(
        arrays, [&](const Range& a) { return r.place - a.begin < a.end - a.begin; });
    if (!listed && !r.chooses) continue;
    const auto symbol = elf.symbol_value(r.symbol);
    out.push_back(elf.cut(symbol.value_or(0) + r.addend));
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace hodo::text
