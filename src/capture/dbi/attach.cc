#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>

#include "attach_refusal.h"
#include "attachment.h"
#include "unmapping.h"

namespace hodo::capture {
namespace {

using relay::NativeThread;

constexpr std::uint64_t kUserCode = 0x33;  // __USER_CS: the code segment of 64-bit code
constexpr unsigned kGetRseq = 0x420f;      // PTRACE_GET_RSEQ_CONFIGURATION, since Linux 5.13

// A thread as it was found.
struct Found {
  pid_t tid = 0;
  user_regs_struct registers{};
  std::uint64_t mask = 0;
};

// struct ptrace_rseq_configuration
struct RseqConfiguration {
  std::uint64_t address = 0;
  std::uint32_t size = 0, signature = 0, flags = 0, padding = 0;
};
// struct rseq_cs
struct CriticalSection {
  std::uint32_t version = 0, flags = 0;
  std::uint64_t start = 0, bytes = 0, abort = 0;
};

NativeThread native(const Found& found) {
  const user_regs_struct& r = found.registers;
  NativeThread made;
  made.rax = r.rax, made.rcx = r.rcx, made.rdx = r.rdx, made.rbx = r.rbx;
  made.rsp = r.rsp, made.rbp = r.rbp, made.rsi = r.rsi, made.rdi = r.rdi;
  made.r8 = r.r8, made.r9 = r.r9, made.r10 = r.r10, made.r11 = r.r11;
  made.r12 = r.r12, made.r13 = r.r13, made.r14 = r.r14, made.r15 = r.r15;
  made.rip = r.rip, made.flags = r.eflags;
  made.mask = found.mask;
  made.tid = found.tid;
  return made;
}

// The engine makes the call again that the thread is in, as the kernel would: arch/x86/kernel/
// signal.c, arch_do_signal_or_restart().
void begin_call_anew(const Found& found, NativeThread& thread) {
  thread.restart = interrupted_call(found.registers);
  if (thread.restart == 0) return;
  thread.rax =
      thread.restart == relay::kRestartBlock ? SYS_restart_syscall : found.registers.orig_rax;
  thread.rip -= 2;
}

// What the kernel does to a thread in a restartable sequence that did not run through:
// rseq_ip_fixup() in kernel/rseq.c.
void leave_sequence(pid_t pid, NativeThread& thread) {
  constexpr std::uint64_t kSection = 8;  // struct rseq, rseq_cs
  RseqConfiguration rseq;
  if (ptrace(static_cast<__ptrace_request>(kGetRseq), thread.tid, sizeof(rseq), &rseq) < 0) return;
  thread.rseq = rseq.address;
  thread.rseq_size = rseq.size;
  thread.rseq_signature = rseq.signature;
  std::uint64_t at = 0;
  if (rseq.address == 0 || !read_memory(pid, rseq.address + kSection, &at, sizeof(at)) || at == 0) {
    return;
  }
  CriticalSection section;
  const bool read = read_memory(pid, at, &section, sizeof(section));
  constexpr std::uint64_t kNone = 0;
  write_memory(pid, rseq.address + kSection, &kNone, sizeof(kNone));
  if (read && thread.rip - section.start < section.bytes) thread.rip = section.abort;
}

class Attaching {
 public:
  Attaching(const EngineImage& engine, const relay::StartInfo& info,
            const relay::Settings& settings, pid_t pid, const Meanwhile& meanwhile)
      : engine_(engine), info_(info), settings_(settings), pid_(pid), meanwhile_(meanwhile) {}

  Result<std::size_t> run(std::span<const pid_t> recorded) {
    if (const int error = held_.hold(pid_, meanwhile_); error != 0) {
      return std::unexpected(refusal_to_hold(pid_, error));
    }
    Status done = look_at_threads(recorded);
    if (done) done = take_in();
    if (done) {
      begin();
    } else {
      undo();
    }
    held_.let_go();
    if (!done) return std::unexpected(done.error());
    return static_cast<std::size_t>(std::ranges::count(threads_, 1, &NativeThread::recorded));
  }

 private:
  Status look_at_threads(std::span<const pid_t> recorded) {
    for (const pid_t tid : held_.tids()) {
      const auto registers = registers_of(tid);
      const auto mask = blocked_signals(tid);
      if (!registers || !mask) continue;  // it has ended
      if (registers->cs != kUserCode) {
        return fail(ErrorCode::unsupported, fmt::format("process {} runs 32-bit code", pid_));
      }
      found_.push_back({tid, *registers, *mask});
      threads_.push_back(native(found_.back()));
      NativeThread& thread = threads_.back();
      leave_sequence(pid_, thread);
      thread.dispatch = take_dispatch(tid);
      begin_call_anew(found_.back(), thread);
      thread.recorded = recorded.empty() || std::ranges::find(recorded, tid) != recorded.end();
    }
    return found_.empty() ? gone() : Status();
  }

  Status gone() const {
    return fail(ErrorCode::not_found,
                fmt::format("process {} ended while it was attached to", pid_));
  }

  pid_t first() const { return found_.front().tid; }

  // Of the kernel, by the first thread.
  std::optional<long> map(std::uint64_t at, std::uint64_t bytes, int rights, int flags) {
    return make_call(first(), call_, SYS_mmap,
                     {at, bytes, static_cast<std::uint64_t>(rights),
                      static_cast<std::uint64_t>(MAP_PRIVATE | MAP_ANONYMOUS | flags), ~0ULL, 0});
  }

  Status take_in() {
    call_ = find_syscall(pid_);
    if (call_ == 0) return fail(ErrorCode::unsupported, "it has no system call in its code");
    for (const Found& one : found_) block_signals(one.tid, kAllButFaults);
    const auto runs = comes_to_run(first(), call_, meanwhile_);
    if (!runs) return gone();
    if (!*runs) return std::unexpected(refusal_to_hold(pid_, EBUSY));
    const auto image = map(engine_.begin(), engine_.bytes(), PROT_READ | PROT_WRITE | PROT_EXEC,
                           MAP_FIXED_NOREPLACE);
    if (!image) return gone();
    if (*image != static_cast<long>(engine_.begin())) {
      return std::unexpected(refusal_of_memory(pid_, engine_.begin(), static_cast<int>(-*image)));
    }
    mapped_ = true;
    const std::uint64_t threads = threads_.size() * sizeof(NativeThread);
    const std::uint64_t bytes = (threads + sizeof(settings_) + 4095) / 4096 * 4096;
    const auto table = map(0x7ea0'0000'0000 - bytes, bytes, PROT_READ | PROT_WRITE, 0);
    if (!table) return gone();
    if (*table < 0 && *table >= -4095) {
      return std::unexpected(refusal_of_memory(pid_, 0, static_cast<int>(-*table)));
    }
    info_.threads = static_cast<std::uint64_t>(*table);
    info_.threads_bytes = bytes;
    info_.thread_count = threads_.size();
    info_.settings = info_.threads + threads;
    if (!engine_.write_into(pid_, info_) || !copy_threads(write_memory) ||
        !write_memory(pid_, info_.settings, &settings_, sizeof(settings_))) {
      return fail(ErrorCode::io, fmt::format("the engine cannot be written into process {}: {}",
                                             pid_, std::strerror(errno)));
    }
    return prepare();
  }

  template <class Copy>
  bool copy_threads(Copy copy) {
    return copy(pid_, info_.threads, threads_.data(), threads_.size() * sizeof(NativeThread));
  }

  // The engine's own registers for a thread.
  static user_regs_struct sent_to(const Found& found, std::uint64_t entry) {
    user_regs_struct registers = found.registers;
    registers.rip = entry;
    registers.orig_rax = ~0ULL;
    registers.eflags = 0x202;
    return registers;
  }

  Status prepare() {
    if (!set_registers(first(), sent_to(found_.front(), engine_.entries().attach))) return gone();
    if (!run_to(first(), engine_.entries().stopped, meanwhile_)) return gone();
    const auto registers = registers_of(first());
    if (!registers) return gone();
    prepared_ = true;
    if (registers->rax != 0) {
      std::array<char, 200> text{};
      read_memory(pid_, registers->rax, text.data(), text.size() - 1);
      constexpr std::uint64_t kErrors = 4096;  // else it is an address or a size
      const std::uint64_t value = registers->rdx;
      const bool error = value != 0 && value < kErrors;
      return fail(ErrorCode::unsupported,
                  fmt::format("process {} cannot be recorded: {}{}", pid_, text.data(),
                              error ? fmt::format(" ({})", std::strerror(static_cast<int>(value)))
                                    : std::string()));
    }
    return copy_threads(read_memory) ? Status() : gone();
  }

  void begin() {
    for (std::size_t i = 0; i < found_.size(); ++i) {
      user_regs_struct registers = sent_to(found_[i], engine_.entries().begin);
      registers.rdi = threads_[i].area;
      registers.rsp = threads_[i].stack - 8;  // as behind a call
      set_registers(found_[i].tid, registers);
      block_signals(found_[i].tid, ~std::uint64_t{0});
    }
  }

  void undo() {
    if (!found_.empty() && mapped_) {
      // What has no table of what it has mapped has mapped this only.
      if (prepared_) unmap_tables(first(), engine_);
      if (!prepared_ && info_.threads != 0) {
        make_call(first(), call_, SYS_munmap, {info_.threads, info_.threads_bytes});
      }
      make_call(first(), call_, SYS_munmap, {engine_.begin(), engine_.bytes()});
    }
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const Found& one = found_[i];
      if (one.tid == first() && call_ != 0) settle(one.tid);
      give_dispatch(pid_, one.tid, threads_[i].dispatch);
      set_registers(one.tid, one.registers);
      block_signals(one.tid, one.mask);
    }
  }

  const EngineImage& engine_;
  relay::StartInfo info_;
  const relay::Settings& settings_;
  pid_t pid_;
  const Meanwhile& meanwhile_;
  HeldThreads held_;
  std::vector<Found> found_;
  std::vector<NativeThread> threads_;  // of the same
  std::uint64_t call_ = 0;             // a SYSCALL instruction
  bool mapped_ = false, prepared_ = false;
};

}  // namespace

Result<std::size_t> attach(const EngineImage& engine, const relay::StartInfo& info,
                           const relay::Settings& settings, pid_t pid,
                           std::span<const pid_t> recorded, const Meanwhile& meanwhile) {
  return Attaching(engine, info, settings, pid, meanwhile).run(recorded);
}

}  // namespace hodo::capture
