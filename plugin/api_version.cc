#include "api_version.h"

#include <dlfcn.h>

namespace hodo::plugin {
namespace {

constexpr int kWithRegisters = 2, kCopiesInsns = 3;

using CopyInsn = std::size_t (*)(const qemu_plugin_insn*, void*, std::size_t);
CopyInsn copy_insn = nullptr;  // null: QEMU gives a pointer

}  // namespace

int declared_api_version() {
  const bool newer = dlsym(RTLD_DEFAULT, "qemu_plugin_read_register") != nullptr;
  return newer ? kWithRegisters : kQemuPluginApiVersion;
}

void set_emulator_version(const qemu_info_t& info) {
  if (info.version.cur < kCopiesInsns) return;
  copy_insn = reinterpret_cast<CopyInsn>(dlsym(RTLD_DEFAULT, "qemu_plugin_insn_data"));
}

void append_bytes(const qemu_plugin_insn* insn, std::vector<std::uint8_t>& out) {
  const std::size_t size = qemu_plugin_insn_size(insn);
  if (copy_insn == nullptr) {
    const auto* bytes = static_cast<const std::uint8_t*>(qemu_plugin_insn_data(insn));
    out.insert(out.end(), bytes, bytes + size);
    return;
  }
  const std::size_t before = out.size();
  out.resize(before + size);
  copy_insn(insn, out.data() + before, size);
}

}  // namespace hodo::plugin
