// Finds the file that a distribution split a program's symbols and DWARF off into.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "elf_file.h"
#include "hodo/symbol/symbol_table.h"

namespace hodo::symbol {

// The path of the debug file of the program at `path`, looked for in the order that DebugPaths
// tells. A file found by build-id must have this build-id, one found by link the CRC that the link
// tells.
std::optional<std::string> find_debug_file(const std::string& path, const ElfFile& elf,
                                           std::span<const std::uint8_t> build_id,
                                           const DebugPaths& paths);

// Which file a program is, and which lie at the places where its debug file may be: as the system
// tells them apart, by where they are, size and times.
struct FilesKey {
  std::vector<std::uint8_t> bytes;
  bool settled = true;  // none was written a moment ago, so that a change would be seen
  bool operator==(const FilesKey&) const = default;
};
FilesKey key_of_files(const std::string& path, const ElfFile& elf,
                      std::span<const std::uint8_t> build_id, const DebugPaths& paths);

// The CRC-32 of .gnu_debuglink (the one of zlib and IEEE 802.3).
std::uint32_t debuglink_crc(std::span<const std::uint8_t> bytes, std::uint32_t crc = 0);

}  // namespace hodo::symbol
