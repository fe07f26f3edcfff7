#include "hodo/symbol/debug_functions.h"

#include <algorithm>

#include "debug_file.h"
#include "dwarf_source.h"
#include "elf_file.h"
#include "hodo/image/elf.h"

namespace hodo::symbol {

DebugFunctions debug_functions_of(const std::string& path, std::span<const std::uint8_t> build_id,
                                  const DebugPaths& debug) {
  const auto elf = image::read_elf_file(path);
  auto file = ElfFile::open(path);
  if (!elf || !file || !std::ranges::equal(elf->build_id, build_id)) return {};
  const auto other = find_debug_file(path, *file, build_id, debug);
  auto source = DwarfSource::open(*std::move(file));
  if (!source && other) {
    if (auto detached = ElfFile::open(*other)) source = DwarfSource::open(*std::move(detached));
  }
  return source ? source->functions() : DebugFunctions{};
}

}  // namespace hodo::symbol
