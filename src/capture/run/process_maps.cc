#include "process_maps.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

namespace hodo::capture {

std::optional<MapsLine> parse_maps_line(const std::string& line) {
  MapsLine out;
  std::uint64_t end = 0;
  std::array<char, 5> rights{};
  int path_at = 0;
  const int fields =
      std::sscanf(line.c_str(),
                  "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 " %n",
                  &out.mmap.address, &end, rights.data(), &out.mmap.file_offset, &out.mmap.maj,
                  &out.mmap.min, &out.mmap.inode, &path_at);
  if (fields < 7 || rights[2] != 'x') return std::nullopt;
  out.mmap.size = end - out.mmap.address;
  out.mmap.prot =
      PROT_EXEC | (rights[0] == 'r' ? PROT_READ : 0u) | (rights[1] == 'w' ? PROT_WRITE : 0u);
  out.mmap.flags = MAP_PRIVATE;
  out.path = line.substr(std::min<std::size_t>(static_cast<std::size_t>(path_at), line.size()));
  return out;
}

}  // namespace hodo::capture
