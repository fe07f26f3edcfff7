#include "registers.h"

#include <dlfcn.h>
#include <glib.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "emulator_function.h"

namespace hodo::plugin {
namespace {

constexpr std::array<std::string_view, 33> kNames64 = {
    "rax", "rbx", "rcx",     "rdx",     "rsi",       "rdi", "rbp",    "rsp", "r8",  "r9",  "r10",
    "r11", "r12", "r13",     "r14",     "r15",       "rip", "eflags", "cs",  "ss",  "ds",  "es",
    "fs",  "gs",  "fs_base", "gs_base", "k_gs_base", "cr0", "cr2",    "cr3", "cr4", "cr8", "efer"};
constexpr std::array<std::string_view, 10> kNames32 = {"eax", "ecx", "edx", "ebx", "esp",
                                                       "ebp", "esi", "edi", "eip", "eflags"};

// A thread-local variable of the emulator: dlsym gives the calling thread's own.
void** address_of_current_cpu() {
  static thread_local auto* address = static_cast<void**>(dlsym(RTLD_DEFAULT, "current_cpu"));
  return address;
}

}  // namespace

bool Registers::attach(bool wide) {
  wide_ = wide;
  if (find_function(official_list_, "qemu_plugin_get_registers") &&
      find_function(official_read_, "qemu_plugin_read_register")) {
    return true;
  }
  official_read_ = nullptr;
  return find_function(get_cpu_, "qemu_get_cpu") &&
         find_function(gdb_read_, "x86_cpu_gdb_read_register");
}

void* Registers::cpu(unsigned index) const {
  if (official()) return const_cast<Registers*>(this);
  return get_cpu_(static_cast<int>(index));
}

void* Registers::current_cpu() const {
  if (official()) return const_cast<Registers*>(this);
  void** address = address_of_current_cpu();
  return address != nullptr ? *address : nullptr;
}

// The same handles serve all processors of a machine: they are of one model. Several threads may
// come here at once and find the same.
void Registers::find_handles() const {
  GArray* list = official_list_();
  if (list == nullptr) return;
  const std::span all(reinterpret_cast<const qemu_plugin_reg_descriptor*>(list->data), list->len);
  const std::span<const std::string_view> names =
      wide_ ? std::span<const std::string_view>(kNames64) : kNames32;
  for (const qemu_plugin_reg_descriptor& one : all) {
    const auto name = std::ranges::find(names, std::string_view(one.name));
    if (name == names.end()) continue;
    handles_[static_cast<std::size_t>(name - names.begin())] = one.handle;
  }
  g_array_free(list, TRUE);
  have_handles_ = true;
}

std::uint64_t Registers::read(void* cpu, int number) const {
  GByteArray* bytes = g_byte_array_sized_new(16);
  if (!official()) {
    gdb_read_(cpu, bytes, number);
  } else {
    if (!have_handles_) find_handles();
    qemu_plugin_register* handle = handles_[static_cast<std::size_t>(number)];
    if (handle != nullptr) official_read_(handle, bytes);
  }
  std::uint64_t value = 0;
  std::memcpy(&value, bytes->data, std::min<std::size_t>(bytes->len, wide_ ? 8 : 4));
  g_byte_array_free(bytes, TRUE);
  return value;
}

}  // namespace hodo::plugin
