#include "engine_image.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "hodo/base/page.h"
#include "tracee.h"

namespace hodo::capture {
namespace {

template <class T>
std::optional<T> read_at(const std::vector<char>& file, std::uint64_t at) {
  if (at > file.size() || sizeof(T) > file.size() - at) return std::nullopt;
  T value{};
  std::memcpy(&value, file.data() + at, sizeof(T));
  return value;
}

std::optional<std::uint64_t> find_symbol(const std::vector<char>& file, const Elf64_Ehdr& header,
                                         std::string_view name) {
  const auto section = [&](std::uint64_t i) {
    return read_at<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto table = section(i);
    if (!table || table->sh_type != SHT_SYMTAB) continue;
    const auto names = section(table->sh_link);
    for (std::uint64_t at = 0; names && at < table->sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(file, table->sh_offset + at);
      if (!symbol) break;
      const std::uint64_t text = names->sh_offset + symbol->st_name;
      if (text > file.size() || name.size() >= file.size() - text) continue;
      const char* there = file.data() + text;
      if (std::string_view(there, name.size()) == name && there[name.size()] == '\0') {
        return symbol->st_value;
      }
    }
  }
  return std::nullopt;
}

std::unexpected<Error> system_error(const char* what) {
  return fail(ErrorCode::io, fmt::format("{}: {}", what, std::strerror(errno)));
}

// A process that stands still. What is done to its registers and signals is undone at the end,
// unless it is kept.
class Held {
 public:
  explicit Held(pid_t pid) : pid_(pid) {
    ok_ = ptrace(PTRACE_GETREGS, pid, nullptr, &saved_) == 0 &&
          ptrace(PTRACE_GETSIGMASK, pid, sizeof(mask_), &mask_) == 0;
    const std::uint64_t all = ~std::uint64_t{0};
    ok_ = ok_ && ptrace(PTRACE_SETSIGMASK, pid, sizeof(all), &all) == 0;
    saved_.orig_rax = ~0ULL;  // it is behind its execve
  }
  ~Held() {
    ptrace(PTRACE_SETREGS, pid_, nullptr, &saved_);
    ptrace(PTRACE_SETSIGMASK, pid_, sizeof(mask_), &mask_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  bool ok() const { return ok_; }
  user_regs_struct& registers() { return saved_; }
  bool is_64_bit() const { return saved_.cs == 0x33; }

  // The kernel's answer to mmap; nullopt: it could not be made to ask.
  std::optional<long> map(std::uint64_t address, std::uint64_t bytes) {
    errno = 0;
    const long word = ptrace(PTRACE_PEEKTEXT, pid_, saved_.rip, nullptr);
    if (errno != 0) return std::nullopt;
    constexpr long kSyscall = 0x050f;
    if (ptrace(PTRACE_POKETEXT, pid_, saved_.rip, (word & ~0xffffL) | kSyscall) != 0) {
      return std::nullopt;
    }
    user_regs_struct regs = saved_;
    regs.rax = SYS_mmap;
    regs.rdi = address;
    regs.rsi = bytes;
    regs.rdx = PROT_READ | PROT_WRITE | PROT_EXEC;
    regs.r10 = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    regs.r8 = ~0ULL;
    regs.r9 = 0;
    const bool done = step_over(regs);
    ptrace(PTRACE_POKETEXT, pid_, saved_.rip, word);
    if (!done) return std::nullopt;
    return static_cast<long>(regs.rax);
  }

 private:
  // Over the two bytes of a system call. The end of the execve that it stands in may count as a
  // step, and brings its own result in RAX; so may a stop that was asked for before.
  bool step_over(user_regs_struct& regs) const {
    constexpr int kTries = 8;
    const user_regs_struct wanted = regs;
    for (int i = 0; i < kTries; ++i) {
      if (ptrace(PTRACE_SETREGS, pid_, nullptr, &wanted) != 0) return false;
      if (ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) != 0) return false;
      if (!wait_for_stop()) return false;
      if (ptrace(PTRACE_GETREGS, pid_, nullptr, &regs) != 0) return false;
      if (regs.rip == saved_.rip + 2) return true;
    }
    return false;
  }

  // False: it was killed. Its end is left to who waits for that.
  bool wait_for_stop() const {
    siginfo_t info{};
    int got = 0;
    do {
      got = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WSTOPPED | WNOWAIT | __WALL);
    } while (got < 0 && errno == EINTR);
    if (got < 0 || (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)) return false;
    return waitpid(pid_, nullptr, __WALL | WNOHANG) == pid_;
  }

  pid_t pid_;
  bool ok_ = false;
  user_regs_struct saved_{};
  std::uint64_t mask_ = 0;
};

// False: the file is not of this version.
bool find_entries(const std::vector<char>& file, const Elf64_Ehdr& header, EngineEntries& found) {
  const std::pair<std::uint64_t*, const char*> names[] = {
      {&found.attach, "engine_attach"},        {&found.begin, "engine_begin_attached"},
      {&found.leaving, "hodo_leaving"},        {&found.parked, "glue_parked"},
      {&found.call_done, "glue_syscall_done"}, {&found.leave_call, "engine_leave_call"},
      {&found.give_back, "engine_give_back"},  {&found.unmap, "engine_unmap"},
      {&found.area_bytes, "hodo_area_bytes"},  {&found.area_native, "hodo_area_native"},
      {&found.unmapped, "glue_unmapped"},      {&found.stopped, "glue_stopped"},
  };
  for (const auto& [entry, name] : names) {
    const auto address = find_symbol(file, header, name);
    if (!address) return false;
    *entry = *address;
  }
  return true;
}

}  // namespace

Result<EngineImage> EngineImage::load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return system_error(path.c_str());
  const std::vector<char> file{std::istreambuf_iterator<char>(in), {}};
  const auto broken = [&] { return fail(ErrorCode::malformed, path + ": not hodo's engine"); };
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return broken();
  EngineImage image;
  image.entry_ = header->e_entry;
  image.low_ = ~std::uint64_t{0};
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = read_at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment || segment->p_offset > file.size() ||
        segment->p_filesz > file.size() - segment->p_offset) {
      return broken();
    }
    if (segment->p_type != PT_LOAD) continue;
    const std::uint64_t end = segment->p_vaddr + segment->p_memsz;
    image.low_ = std::min(image.low_, segment->p_vaddr & ~(kPage - 1));
    image.high_ = std::max(image.high_, (end + kPage - 1) & ~(kPage - 1));
    const char* bytes = file.data() + segment->p_offset;
    if (segment->p_filesz != 0) {
      image.segments_.push_back({segment->p_vaddr, {bytes, bytes + segment->p_filesz}});
    }
  }
  const auto start_info = find_symbol(file, *header, "hodo_start_info");
  if (image.segments_.empty() || !start_info) return broken();
  if (!find_entries(file, *header, image.entries_)) return broken();
  image.start_info_ = *start_info;
  return image;
}

Status EngineImage::start_in(pid_t pid, relay::StartInfo info) const {
  Held held(pid);
  if (!held.ok()) return system_error("the program's registers cannot be read");
  if (!held.is_64_bit()) return fail(ErrorCode::unsupported, "it is a 32-bit program");
  const auto mapped = held.map(low_, high_ - low_);
  if (!mapped && is_not_dumpable(pid)) {
    return fail(ErrorCode::not_permitted,
                "its user may not read it, nor look into it; remedy: run hodo as root");
  }
  if (!mapped) return fail(ErrorCode::io, "it could not be made to take the engine in");
  if (*mapped == -EEXIST) {
    return fail(ErrorCode::unsupported, "it lies where the engine belongs");
  }
  if (*mapped != static_cast<long>(low_)) {
    return fail(ErrorCode::io, fmt::format("it has no memory for the engine: {}",
                                           std::strerror(static_cast<int>(-*mapped))));
  }
  info.entry = held.registers().rip;
  if (!write_into(pid, info)) return system_error("the engine cannot be written into the program");
  held.registers().rip = entry_;
  return {};
}

bool EngineImage::write_into(pid_t pid, const relay::StartInfo& info) const {
  return std::ranges::all_of(segments_,
                             [pid](const Segment& segment) {
                               return write_memory(pid, segment.address, segment.bytes.data(),
                                                   segment.bytes.size());
                             }) &&
         write_memory(pid, start_info_, &info, sizeof(info));
}

bool EngineImage::is_in(pid_t pid, const relay::Key& key) const {
  relay::StartInfo there;
  return read_memory(pid, start_info_, &there, sizeof(there)) && there.key == key;
}

bool EngineImage::read_native(pid_t pid, std::uint64_t in_area, relay::NativeThread& native) const {
  const std::uint64_t area = in_area & ~(entries_.area_bytes - 1);
  return read_memory(pid, area + entries_.area_native, &native, sizeof(native));
}

}  // namespace hodo::capture
