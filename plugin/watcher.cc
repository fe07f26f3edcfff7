// An independent witness for the differential tests: a QEMU plugin that writes down every executed
// block. It shares no code with the trace unit or any packet writer, so that an error there cannot
// hide here. Loaded beside the recording plugin: -plugin libhodo-watcher.so,dir=DIR
//
// DIR then holds, for every process image (SEQ counts the images one pid went through by exec):
//
//   PID.SEQ.blocks       text: a header line, then one line per translated block
//     hodo-watcher 1 x86_64 pid=PID parent=FILE base=N     after a fork, ids <= N are in FILE
//     ID START LAST FALLTHROUGH INSNS MNEMONIC...          hex addresses; MNEMONIC of the LAST insn
//   PID.SEQ.TID.run      32-bit little-endian words, in the order of execution
//     0                  padding, to be skipped
//     ID                 the block began
//     ID | 1<<31         ... and its last instruction was reached
//     0x7fffffff SIGNO FLAGS IP_LOW IP_HIGH
//                        the block before it is a signal handler's first, entered by a signal that
//                        found the thread at IP; FLAGS bit 0: a fault of the instruction at IP
//
// A block that is translated again gets a new id. The logs are shared mappings and plain writes, so
// that even SIGKILL leaves everything that happened.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "qemu_api.h"

int qemu_plugin_version = kQemuPluginApiVersion;

namespace {

constexpr std::uint32_t kLastReached = 0x80000000U;
constexpr std::uint32_t kSignalMark = 0x7fffffffU;
constexpr std::size_t kSignalWords = 5;
constexpr std::uint32_t kFault = 1;
constexpr std::size_t kWindowWords = std::size_t{1} << 18;
constexpr std::size_t kWindowBytes = kWindowWords * sizeof(std::uint32_t);

// A witness that cannot write is no witness: it ends the program rather than leave a silent gap.
[[noreturn]] void die(const char* what, const std::string& name) {
  std::fprintf(stderr, "hodo watcher: cannot %s %s: %s\n", what, name.c_str(),
               std::strerror(errno));
  std::abort();
}

// What a signal entry looked like from the handler's first block.
struct SignalEntry {
  std::uint32_t signo = 0;
  std::uint32_t flags = 0;
  std::uint64_t ip = 0;  // where the thread was: the faulting instruction, or the next to execute
};

// One thread's log: a window that moves over a growing file.
class RunLog {
 public:
  explicit RunLog(std::string name) : name_(std::move(name)) {
    fd_ = open(name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd_ < 0) die("create", name_);
    map_next_window();
  }
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;
  ~RunLog() {
    munmap(window_, kWindowBytes);
    close(fd_);
  }

  // Leaves room for a signal's words too, so that a window only moves between blocks.
  void begin_block(std::uint32_t id) {
    if (window_ + kWindowWords - next_ < static_cast<std::ptrdiff_t>(1 + kSignalWords)) {
      map_next_window();
    }
    block_ = next_++;
    *block_ = id;
  }
  void reach_last() { *block_ |= kLastReached; }
  void enter_signal(const SignalEntry& entry) {
    for (std::uint32_t word :
         {kSignalMark, entry.signo, entry.flags, static_cast<std::uint32_t>(entry.ip),
          static_cast<std::uint32_t>(entry.ip >> 32)}) {
      *next_++ = word;
    }
  }

 private:
  void map_next_window() {
    if (window_ != nullptr) munmap(window_, kWindowBytes);
    const off_t end = offset_ + static_cast<off_t>(kWindowBytes);
    if (ftruncate(fd_, end) != 0) die("extend", name_);
    void* map = mmap(nullptr, kWindowBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, offset_);
    if (map == MAP_FAILED) die("map", name_);
    offset_ = end;
    window_ = next_ = static_cast<std::uint32_t*>(map);
  }

  std::string name_;
  int fd_ = -1;
  off_t offset_ = 0;
  std::uint32_t* window_ = nullptr;
  std::uint32_t* next_ = nullptr;   // within window_
  std::uint32_t* block_ = nullptr;  // the word of the block that runs, within window_
};

// A translated block. Never freed: QEMU may keep calling with it, and the log names it by id.
struct Block {
  std::uint32_t id = 0;
  std::uint64_t start = 0;
  std::atomic<bool> is_handler{false};  // starts where some sigaction pointed
};

// The emulated processor and its memory, read through what the emulator happens to export. Only
// valid at the start of a block, when the guest's registers are in memory.
class Guest {
 public:
  // False when this emulator lacks a symbol; then signals cannot be told from jumps.
  bool open(bool is_64bit) {
    is_64bit_ = is_64bit;
    read_register_ = symbol<ReadRegister>("x86_cpu_gdb_read_register");
    new_bytes_ = symbol<NewBytes>("g_byte_array_new");
    free_bytes_ = symbol<FreeBytes>("g_byte_array_free");
    base_ = symbol<const std::uintptr_t*>("guest_base");
    return read_register_ != nullptr && new_bytes_ != nullptr && free_bytes_ != nullptr &&
           base_ != nullptr && symbol<void**>("thread_cpu") != nullptr;
  }
  bool is_64bit() const { return is_64bit_; }

  // `number` as gdb counts the target's registers.
  std::uint64_t reg(int number) const {
    ByteArray* bytes = new_bytes_();
    std::uint64_t value = 0;
    // thread_cpu is thread-local in the emulator, so its address is asked for on each thread.
    if (void** cpu = symbol<void**>("thread_cpu"); cpu != nullptr && *cpu != nullptr) {
      read_register_(*cpu, bytes, number);
      std::memcpy(&value, bytes->data, bytes->size < sizeof(value) ? bytes->size : sizeof(value));
    }
    free_bytes_(bytes, 1);
    return value;
  }
  std::uint64_t stack_pointer() const { return reg(is_64bit_ ? 7 : 4); }

  // Reads guest memory through the kernel, which answers for an unmapped address instead of
  // faulting.
  template <class T>
  std::optional<T> read(std::uint64_t address) const {
    T value;
    iovec local{&value, sizeof(T)};
    iovec remote{reinterpret_cast<void*>(*base_ + address), sizeof(T)};
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != static_cast<ssize_t>(sizeof(T))) {
      return std::nullopt;
    }
    return value;
  }
  std::uint64_t read_word(std::uint64_t address) const {
    if (is_64bit_) return read<std::uint64_t>(address).value_or(0);
    return read<std::uint32_t>(address).value_or(0);
  }

 private:
  struct ByteArray {  // GLib's GByteArray
    std::uint8_t* data;
    unsigned size;
  };
  using ReadRegister = int (*)(void* cpu, ByteArray* out, int number);
  using NewBytes = ByteArray* (*)();
  using FreeBytes = std::uint8_t* (*)(ByteArray* bytes, int free_segment);

  template <class T>
  static T symbol(const char* name) {
    return reinterpret_cast<T>(dlsym(RTLD_DEFAULT, name));
  }

  bool is_64bit_ = true;
  ReadRegister read_register_ = nullptr;
  NewBytes new_bytes_ = nullptr;
  FreeBytes free_bytes_ = nullptr;
  const std::uintptr_t* base_ = nullptr;
};

// Recognizes signal frames: which handlers exist comes from the sigaction calls; a handler was
// entered by a signal if its return address is the restorer that the same sigaction named. (A
// handler that jumps to another one with its own frame still at the stack pointer looks the same;
// the reader of the log knows the jump and ignores the mark.)
class Signals {
 public:
  explicit Signals(const Guest& guest) : guest_(guest) {}

  // From the arguments of [rt_]sigaction; returns the handler's address, 0 if there is none.
  std::uint64_t learn(std::uint64_t action) {
    if (action == 0) return 0;
    const std::uint64_t word = guest_.is_64bit() ? 8 : 4;
    const std::uint64_t handler = guest_.read_word(action);
    if (handler <= 1) return 0;  // SIG_DFL, SIG_IGN
    // struct sigaction as the kernel takes it: handler, flags, restorer, mask (old i386: mask
    // before).
    auto& entries = actions_[handler];
    entries.push_back({guest_.read_word(action + word), guest_.read_word(action + 2 * word)});
    if (!guest_.is_64bit()) {
      entries.push_back({guest_.read_word(action + 2 * word), guest_.read_word(action + 3 * word)});
    }
    return handler;
  }
  bool is_handler(std::uint64_t address) const { return actions_.contains(address); }

  // How the handler at `address`, whose first block begins now, was entered; nullopt: called.
  std::optional<SignalEntry> entry(std::uint64_t address) const {
    std::uint64_t sp = guest_.stack_pointer();
    const auto action = matching_action(address, sp);
    if (!action) return std::nullopt;
    SignalEntry entry = guest_.is_64bit() ? top_entry_64() : top_entry_32(sp, *action);
    // Several signals at once leave frames on frames: the thread itself was where the lowest says.
    constexpr int kMostFrames = 64;
    auto frame = saved_state(sp, *action);
    for (int i = 0; i < kMostFrames; ++i) {
      entry.ip = frame.ip;
      const auto lower = matching_action(frame.ip, frame.sp);
      if (!lower) break;
      frame = saved_state(frame.sp, *lower);
      entry.flags = 0;
    }
    return entry;
  }

 private:
  struct Action {
    std::uint64_t flags;
    std::uint64_t restorer;
  };
  struct Saved {
    std::uint64_t ip;
    std::uint64_t sp;
  };

  std::optional<Action> matching_action(std::uint64_t handler, std::uint64_t sp) const {
    const auto found = actions_.find(handler);
    if (found == actions_.end()) return std::nullopt;
    const std::uint64_t return_address = guest_.read_word(sp);
    for (const Action& action : found->second) {
      if (action.restorer != 0 && action.restorer == return_address) return action;
    }
    return std::nullopt;
  }

  // arch/x86/include/asm/sigframe.h and uapi/asm/sigcontext.h.
  Saved saved_state(std::uint64_t sp, const Action& action) const {
    if (guest_.is_64bit()) {
      const std::uint64_t context = sp + 8;  // struct rt_sigframe: pretcode, then the ucontext
      return {guest_.read_word(context + 168), guest_.read_word(context + 160)};
    }
    const bool with_info = (action.flags & SA_SIGINFO) != 0;
    const std::uint64_t context = with_info ? guest_.read_word(sp + 12) + 20 : sp + 8;
    return {guest_.read_word(context + 56), guest_.read_word(context + 28)};
  }
  SignalEntry top_entry_64() const {  // the handler's arguments: rdi = signo, rsi = siginfo
    const auto signo = static_cast<std::uint32_t>(guest_.reg(5));
    return {signo, fault_flag(signo, guest_.read<std::int32_t>(guest_.reg(4) + 8)), 0};
  }
  SignalEntry top_entry_32(std::uint64_t sp, const Action& action) const {
    const auto signo = static_cast<std::uint32_t>(guest_.read_word(sp + 4));
    std::optional<std::int32_t> code = 1;  // a frame without siginfo does not tell; take a fault
    if ((action.flags & SA_SIGINFO) != 0) {
      code = guest_.read<std::int32_t>(guest_.read_word(sp + 8) + 8);
    }
    return {signo, fault_flag(signo, code), 0};
  }
  // A positive si_code of these signals comes from the processor; kill and raise have others.
  static std::uint32_t fault_flag(std::uint32_t signo, std::optional<std::int32_t> code) {
    const bool by_processor = signo == SIGSEGV || signo == SIGBUS || signo == SIGFPE ||
                              signo == SIGILL || signo == SIGTRAP;
    return by_processor && code.value_or(0) > 0 ? kFault : 0;
  }

  const Guest& guest_;
  std::unordered_map<std::uint64_t, std::vector<Action>> actions_;
};

// The logs of one process image; in the child of a fork, of that child from then on.
class Watcher {
 public:
  // False when this emulator does not export what telling signals from jumps needs.
  bool open(std::string directory, std::string target) {
    directory_ = std::move(directory);
    target_ = std::move(target);
    if (!guest_.open(target_ == "x86_64")) return false;
    open_blocks("-");
    return true;
  }
  std::string run_name() const { return prefix_ + "." + std::to_string(gettid()) + ".run"; }

  Block* translate(const qemu_plugin_tb* tb);
  void learn_handler(std::uint64_t action);
  std::optional<SignalEntry> signal_entry(const Block& block) const {
    const std::scoped_lock lock(mutex_);
    return signals_.entry(block.start);
  }

  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork_in_child() {
    close(blocks_fd_);
    open_blocks(prefix_.substr(directory_.size() + 1) + ".blocks");
    mutex_.unlock();
  }

 private:
  void open_blocks(const std::string& parent);

  std::string directory_;
  std::string target_;
  std::string prefix_;  // DIR/PID.SEQ
  int blocks_fd_ = -1;
  Guest guest_;
  mutable std::mutex mutex_;  // what follows, and the order of lines in the file
  std::uint32_t last_id_ = 0;
  std::unordered_map<std::uint64_t, std::vector<Block*>> blocks_by_start_;
  Signals signals_{guest_};
};

void Watcher::open_blocks(const std::string& parent) {
  std::string name;
  for (int sequence = 0; blocks_fd_ = -1, sequence < 1'000'000; ++sequence) {
    prefix_ = directory_ + "/" + std::to_string(getpid()) + "." + std::to_string(sequence);
    name = prefix_ + ".blocks";
    blocks_fd_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (blocks_fd_ >= 0 || errno != EEXIST) break;
  }
  if (blocks_fd_ < 0) die("create", name);
  dprintf(blocks_fd_, "hodo-watcher 1 %s pid=%d parent=%s base=%" PRIu32 "\n", target_.c_str(),
          getpid(), parent.c_str(), last_id_);
}

Block* Watcher::translate(const qemu_plugin_tb* tb) {
  const std::size_t count = qemu_plugin_tb_n_insns(tb);
  const qemu_plugin_insn* last = qemu_plugin_tb_get_insn(tb, count - 1);
  const std::uint64_t last_address = qemu_plugin_insn_vaddr(last);
  char* text = qemu_plugin_insn_disas(last);

  const std::scoped_lock lock(mutex_);
  auto* block = new Block;
  block->id = ++last_id_;
  block->start = qemu_plugin_tb_vaddr(tb);
  block->is_handler = signals_.is_handler(block->start);
  blocks_by_start_[block->start].push_back(block);
  const int written =
      dprintf(blocks_fd_, "%" PRIu32 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %zu %s\n", block->id,
              block->start, last_address, last_address + qemu_plugin_insn_size(last), count,
              text != nullptr ? text : "?");
  if (written < 0) die("write", prefix_ + ".blocks");
  free(text);
  return block;
}

void Watcher::learn_handler(std::uint64_t action) {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t handler = signals_.learn(action);
  const auto found = blocks_by_start_.find(handler);
  if (handler == 0 || found == blocks_by_start_.end()) return;
  for (Block* block : found->second) block->is_handler = true;
}

// Never destroyed: QEMU calls until the process is gone.
Watcher& watcher() {
  static auto* instance = new Watcher;
  return *instance;
}

// Opened at a thread's first block. Initial-exec, since every block reads it.
[[gnu::tls_model("initial-exec")]] thread_local RunLog* run_log = nullptr;

void close_run_log() {
  delete run_log;
  run_log = nullptr;
}

void on_block(unsigned /*vcpu*/, void* data) {
  const auto& block = *static_cast<const Block*>(data);
  if (run_log == nullptr) run_log = new RunLog(watcher().run_name());
  run_log->begin_block(block.id);
  if (!block.is_handler.load(std::memory_order_relaxed)) return;
  if (const auto entry = watcher().signal_entry(block)) run_log->enter_signal(*entry);
}

void on_last_insn(unsigned /*vcpu*/, void* /*data*/) { run_log->reach_last(); }

void on_translate(qemu_plugin_id_t /*id*/, qemu_plugin_tb* tb) {
  const std::size_t count = qemu_plugin_tb_n_insns(tb);
  if (count == 0) return;
  qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_R_REGS,
                                       watcher().translate(tb));
  qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, count - 1), on_last_insn,
                                         QEMU_PLUGIN_CB_NO_REGS, nullptr);
}

// The calls that install signal handlers, by target.
struct SigactionNumbers {
  std::int64_t rt_sigaction;
  std::int64_t sigaction;  // -1: this target has none
};
SigactionNumbers sigaction_numbers;

void on_syscall(qemu_plugin_id_t /*id*/, unsigned /*vcpu*/, std::int64_t number,
                std::uint64_t /*a1*/, std::uint64_t a2, std::uint64_t /*a3*/, std::uint64_t /*a4*/,
                std::uint64_t /*a5*/, std::uint64_t /*a6*/, std::uint64_t /*a7*/,
                std::uint64_t /*a8*/) {
  if (number == sigaction_numbers.rt_sigaction || number == sigaction_numbers.sigaction) {
    watcher().learn_handler(a2);
  }
}

void on_thread_exit(qemu_plugin_id_t /*id*/, unsigned /*vcpu*/) { close_run_log(); }

}  // namespace

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  constexpr std::string_view kKey = "dir=";
  const std::string_view argument = argc == 1 ? argv[0] : "";
  if (!argument.starts_with(kKey) || argument == kKey) {
    std::fprintf(stderr, "hodo watcher: needs one argument, dir=DIRECTORY\n");
    return 1;
  }
  const std::string_view target = info->target_name;
  if (info->system_emulation || (target != "x86_64" && target != "i386")) {
    std::fprintf(stderr, "hodo watcher: works with qemu-x86_64 and qemu-i386 only\n");
    return 1;
  }
  sigaction_numbers = target == "x86_64" ? SigactionNumbers{13, -1} : SigactionNumbers{174, 67};
  if (!watcher().open(std::string(argument.substr(kKey.size())), std::string(target))) {
    std::fprintf(stderr, "hodo watcher: this QEMU does not export its CPU state\n");
    return 1;
  }
  pthread_atfork([] { watcher().before_fork(); }, [] { watcher().after_fork_in_parent(); },
                 [] {
                   close_run_log();  // the parent's; only this copy of the mapping goes
                   watcher().after_fork_in_child();
                 });
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
  qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
  qemu_plugin_register_vcpu_exit_cb(id, on_thread_exit);
  return 0;
}
