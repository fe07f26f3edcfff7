// In a file of its own: from version 3 of the interface on it is declared in another way.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

struct qemu_plugin_insn {
  std::uint64_t address;
  std::vector<std::uint8_t> bytes;
};

extern "C" std::size_t qemu_plugin_insn_data(const qemu_plugin_insn* insn, void* out,
                                             std::size_t size) {
  const std::size_t most = std::min(size, insn->bytes.size());
  std::memcpy(out, insn->bytes.data(), most);
  return most;
}
