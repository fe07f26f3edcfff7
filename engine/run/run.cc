// engine-run ENGINE [-o FILE] [--no-random] -- COMMAND: runs a program on the engine without a
// recorder, for measurements and tests. With -o its packets go into FILE as they are, without they
// are thrown away.
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../start_info.h"

namespace {

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(70);
}

std::vector<char> read_file(const char* path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

long remote_syscall(pid_t pid, long number, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                    std::uint64_t d, std::uint64_t e, std::uint64_t f) {
  user_regs_struct saved{};
  ptrace(PTRACE_GETREGS, pid, nullptr, &saved);
  const long word = ptrace(PTRACE_PEEKTEXT, pid, saved.rip, nullptr);
  ptrace(PTRACE_POKETEXT, pid, saved.rip, (word & ~0xffffL) | 0x050f);
  user_regs_struct regs = saved;
  regs.rax = static_cast<std::uint64_t>(number);
  regs.rdi = a, regs.rsi = b, regs.rdx = c, regs.r10 = d, regs.r8 = e, regs.r9 = f;
  ptrace(PTRACE_SETREGS, pid, nullptr, &regs);
  ptrace(PTRACE_SINGLESTEP, pid, nullptr, nullptr);
  int status = 0;
  waitpid(pid, &status, 0);
  ptrace(PTRACE_GETREGS, pid, nullptr, &regs);
  ptrace(PTRACE_POKETEXT, pid, saved.rip, word);
  ptrace(PTRACE_SETREGS, pid, nullptr, &saved);
  return static_cast<long>(regs.rax);
}

void write_memory(pid_t pid, std::uint64_t to, const void* from, std::size_t count) {
  iovec local{const_cast<void*>(from), count}, remote{reinterpret_cast<void*>(to), count};
  if (process_vm_writev(pid, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(count))
    fail("process_vm_writev");
}

std::uint64_t symbol(const std::vector<char>& image, const char* name) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image.data());
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(image.data() + header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(image.data() + sections[i].sh_offset);
    const char* names = image.data() + sections[sections[i].sh_link].sh_offset;
    for (std::size_t at = 0; at < sections[i].sh_size / sizeof(Elf64_Sym); ++at) {
      if (std::strcmp(names + symbols[at].st_name, name) == 0) return symbols[at].st_value;
    }
  }
  fail(name);
}

void inject(pid_t pid, const std::vector<char>& image, hodo::engine::StartInfo info) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image.data());
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(image.data() + header->e_phoff);
  std::uint64_t low = ~0ULL, high = 0;
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type != PT_LOAD) continue;
    low = std::min<std::uint64_t>(low, segments[i].p_vaddr & ~0xfffULL);
    high = std::max<std::uint64_t>(high,
                                   (segments[i].p_vaddr + segments[i].p_memsz + 0xfff) & ~0xfffULL);
  }
  const long got =
      remote_syscall(pid, SYS_mmap, low, high - low, PROT_READ | PROT_WRITE | PROT_EXEC,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, ~0ULL, 0);
  if (got != static_cast<long>(low)) fail("the engine's addresses are taken");
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type != PT_LOAD || segments[i].p_filesz == 0) continue;
    write_memory(pid, segments[i].p_vaddr, image.data() + segments[i].p_offset,
                 segments[i].p_filesz);
  }
  user_regs_struct regs{};
  ptrace(PTRACE_GETREGS, pid, nullptr, &regs);
  info.entry = regs.rip;
  write_memory(pid, symbol(image, "hodo_start_info"), &info, sizeof(info));
  regs.rip = header->e_entry;
  ptrace(PTRACE_SETREGS, pid, nullptr, &regs);
}

}  // namespace

int main(int argc, char** argv) {
  hodo::engine::StartInfo info;
  bool random = true;
  int at = 2;
  for (; at < argc && std::strcmp(argv[at], "--") != 0; ++at) {
    if (std::strcmp(argv[at], "-o") == 0 && at + 1 < argc) {
      std::strncpy(info.output, argv[++at], sizeof(info.output) - 1);
    } else if (std::strcmp(argv[at], "--no-random") == 0) {
      random = false;
    }
  }
  if (at + 1 >= argc) {
    std::fprintf(stderr, "usage: engine-run ENGINE [-o FILE] [--no-random] -- COMMAND\n");
    return 2;
  }
  info.rtit_ctl =
      1 | 8 | 1 << 9 | 1 << 10 | 1 << 13 | 3 << 14 | 3 << 24;  // as hodo record asks for
  const std::vector<char> image = read_file(argv[1]);
  const pid_t pid = fork();
  if (pid == 0) {
    if (!random) personality(ADDR_NO_RANDOMIZE);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execvp(argv[at + 1], argv + at + 1);
    fail(argv[at + 1]);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (!WIFSTOPPED(status)) return 127;
  inject(pid, image, info);
  ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) {
    std::fprintf(stderr, "engine-run: killed by signal %d\n", WTERMSIG(status));
    return 128 + WTERMSIG(status);
  }
  return WEXITSTATUS(status);
}
