#include "process_maps.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

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

pid_t living_thread(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  const auto has_ended = [&](const std::string& thread) {
    std::ifstream file(process + "/task/" + thread + "/stat");
    std::string line;
    std::getline(file, line);
    const std::size_t name = line.rfind(')');  // which may have any characters
    const char state = name == line.npos || line.size() < name + 3 ? 'X' : line[name + 2];
    return state == 'Z' || state == 'X';
  };
  if (!has_ended(std::to_string(pid))) return pid;
  std::error_code none;
  for (const auto& task : std::filesystem::directory_iterator(process + "/task", none)) {
    const std::string thread = task.path().filename();
    if (!has_ended(thread)) return std::atoi(thread.c_str());
  }
  return pid;
}

}  // namespace hodo::capture
