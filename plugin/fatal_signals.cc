#include "fatal_signals.h"

#include <elf.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace hodo::plugin {
namespace {

void (*before_fatal)(int signal) = nullptr;

int kill_and_tell(pid_t pid, int signal) {
  if (pid == getpid() && signal != 0) before_fatal(signal);
  return ::kill(pid, signal);
}

// The dynamic section of a loaded file, as far as it is needed here.
struct Imports {
  const char* strings = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const ElfW(Rela) * slots = nullptr;  // of its procedure linkage table
  std::size_t bytes = 0;
};

Imports imports_of(const dl_phdr_info& file) {
  Imports out;
  for (std::size_t i = 0; i < file.dlpi_phnum; ++i) {
    if (file.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(file.dlpi_addr + file.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_STRTAB) out.strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_SYMTAB) {
        out.symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
      }
      if (entry->d_tag == DT_JMPREL) {
        out.slots = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
      }
      if (entry->d_tag == DT_PLTRELSZ) out.bytes = entry->d_un.d_val;
    }
  }
  return out;
}

// The slots are read-only once the linker has filled them (RELRO).
bool replace(void** slot, void* function) {
  const auto page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t start = reinterpret_cast<std::uintptr_t>(slot) / page_size * page_size;
  auto* page = reinterpret_cast<void*>(start);
  if (mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0) return false;
  *slot = function;
  return mprotect(page, page_size, PROT_READ) == 0;
}

// The first file that the linker lists is the program itself: the emulator.
int redirect_kill(dl_phdr_info* file, std::size_t, void* done) {
  const Imports found = imports_of(*file);
  if (found.strings == nullptr || found.symbols == nullptr || found.slots == nullptr) return 1;
  for (std::size_t i = 0; i < found.bytes / sizeof(ElfW(Rela)); ++i) {
    const ElfW(Rela)& slot = found.slots[i];
    const ElfW(Sym)& symbol = found.symbols[ELF64_R_SYM(slot.r_info)];
    if (std::strcmp(found.strings + symbol.st_name, "kill") != 0) continue;
    *static_cast<bool*>(done) = replace(reinterpret_cast<void**>(file->dlpi_addr + slot.r_offset),
                                        reinterpret_cast<void*>(&kill_and_tell));
    return 1;
  }
  return 1;
}

}  // namespace

bool watch_fatal_signals(void (*before)(int signal)) {
  before_fatal = before;
  bool done = false;
  dl_iterate_phdr(redirect_kill, &done);
  return done;
}

}  // namespace hodo::plugin
