// The recording plugin: QEMU's callbacks on one side, the trace unit on the other.
//
// One trace unit per guest thread, of the kind that the option unit= names. Every translated block
// is described once (translate) and reports its execution (on_block); system calls, forks, execs
// and new code are the occasions where the program leaves the traced context, as it would under a
// kernel.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "api_version.h"
#include "areas.h"
#include "blocks.h"
#include "describe.h"
#include "exec.h"
#include "fatal_signals.h"
#include "filters.h"
#include "guest.h"
#include "hodo/isa/insn.h"
#include "hodo/unit/bts_unit.h"
#include "hodo/unit/lbr_unit.h"
#include "hodo/unit/pt_unit.h"
#include "known_code.h"
#include "mappings.h"
#include "program_start.h"
#include "qemu_api.h"
#include "qemu_messages.h"
#include "signals.h"
#include "syscalls.h"
#include "thread.h"

int qemu_plugin_version = hodo::plugin::declared_api_version();

namespace hodo::plugin {
namespace {

using relay::RecordType;
using unit::Block;

// What QEMU calls on the units of a recording's kind, and a unit that is off.
struct UnitCallbacks {
  using Callback = void (*)(unsigned vcpu, void* block);
  struct ByCode {
    Callback in_file = nullptr;
    Callback kept = nullptr;  // the recording has its bytes
  };
  ByCode enter;
  ByCode enter_counting;
  ByCode enter_stepped;
  Callback leave_filter = nullptr;
  void* (*make_off)() = nullptr;
};

struct Recorder {
  UnitCallbacks callbacks;
  std::string socket;
  relay::Key key{};
  std::string program;        // its file
  std::string comm;           // what the kernel would have called this process
  std::string plugin_option;  // what -plugin was given, for programs that this one executes
  Guest guest;
  Blocks blocks;
  Mappings mappings{guest};
  Areas areas;
  KnownCode known_code;
  std::atomic<std::uint64_t> code_sent = 0;  // versions of code
  Filters filters;
  std::mutex mutex;  // mappings, areas, known_code, filters, threads
  std::vector<Thread*> threads;
  std::atomic<int> alive = 1;  // threads of the program, also those that have not begun to run
  bool first_image = true;
  // Around fork(): who forks, and the child's connection.
  struct {
    std::int32_t pid = 0, tid = 0;
    int connection = -1;
  } fork;
};

Recorder* recorder = nullptr;

// The unit of this thread, of the recording's kind; one that is off if the thread is not recorded;
// null before its first block.
thread_local void* current_unit __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local Thread* current_thread __attribute__((tls_model("initial-exec"))) = nullptr;

template <class Record>
  requires std::is_trivially_copyable_v<Record>
std::span<const std::uint8_t> bytes_of(const Record& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof(value)};
}
std::span<const std::uint8_t> text_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

void begin_thread(int connection, relay::Start how, std::int32_t parent_pid,
                  std::int32_t parent_tid) {
  current_thread = Thread::start(connection, how, parent_pid, parent_tid, recorder->guest);
  if (current_thread == nullptr) {
    current_unit = recorder->callbacks.make_off();
    return;
  }
  current_unit = current_thread->tracer().unit();
  const std::lock_guard lock(recorder->mutex);
  const Mapping* stack = recorder->mappings.find(recorder->guest.stack_pointer());
  if (stack != nullptr) recorder->areas.add_stack(gettid(), {stack->where.start, stack->end()});
  recorder->threads.push_back(current_thread);
  recorder->filters.configure(current_thread->settings());
}

Mapping* report_mapping(std::uint64_t address);

void forget_thread(Thread* thread) {
  current_unit = recorder->callbacks.make_off();
  current_thread = nullptr;
  const std::lock_guard lock(recorder->mutex);
  recorder->areas.remove_stack(gettid());
  std::erase(recorder->threads, thread);
  delete thread;
}

void send_end(Thread& thread, const relay::EndRecord& how) {
  thread.send(RecordType::end, bytes_of(how), {});
}

// By exit(2), or exit_group(2) and with it the `process`.
void end_thread(std::uint64_t status, bool process) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  if (process) send_end(*thread, {.exit_status = static_cast<std::int32_t>(status & 0xff)});
  thread->send(RecordType::exit, {}, {});
  thread->close();
  forget_thread(thread);
}

// Counted before the call that makes a thread: it may end before that returns.
thread_local bool makes_thread __attribute__((tls_model("initial-exec"))) = false;

void on_clone(std::uint64_t flags) {
  makes_thread = (flags & CLONE_THREAD) != 0;
  if (makes_thread) ++recorder->alive;
}

void on_clone_return(std::int64_t result) {
  if (makes_thread && result < 0) --recorder->alive;
}

// A signal ends the program. Nothing here waits for a lock: another thread may hold it for ever.
void before_fatal_signal(int signal) {
  static std::atomic_flag begun;  // what is done here may itself meet a memory that is gone
  Thread* thread = current_thread;
  if (thread == nullptr || begun.test_and_set()) return;
  const std::uint64_t ip = recorder->guest.instruction_pointer();
  const bool faulted =
      signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
  thread->tracer().interrupt(ip, faulted);
  send_end(*thread, {.signal = signal, .ip_known = 1, .ip = ip});
  thread->send(RecordType::exit, {}, {});
  thread->close();
}

// The system call replaces memory, or takes it away. Where that is a channel's, its thread is not
// recorded any more, and the recording says so.
void give_up_channels_in(const TakenMemory& taken) {
  if (taken.size == 0) return;
  const std::uint64_t start = recorder->guest.host(taken.start);
  bool own = false;
  {
    const std::lock_guard lock(recorder->mutex);
    for (Thread* thread : recorder->threads) {
      if (!thread->lies_in(start, taken.size)) continue;
      if (thread == current_thread)
        own = true;
      else
        thread->condemn();
    }
  }
  if (!own) return;
  Thread* thread = current_thread;
  thread->give_up();
  forget_thread(thread);
}

void set_name_as_the_kernel_would() { prctl(PR_SET_NAME, recorder->comm.c_str()); }

// The first block of a thread, or of the whole program.
[[gnu::noinline]] void first_event() {
  const bool image = std::exchange(recorder->first_image, false);
  if (image) set_name_as_the_kernel_would();
  begin_thread(relay::connect_recorder(recorder->socket, recorder->key),
               image ? relay::Start::image : relay::Start::thread, getpid(), getpid());
  if (!image || current_thread == nullptr) return;
  const std::lock_guard lock(recorder->mutex);
  const ProgramStart start = program_start(recorder->guest, recorder->guest.stack_pointer());
  if (start.vdso.end > start.vdso.start) recorder->areas.set_vdso(start.vdso);
  if (start.entry != 0) report_mapping(start.entry);
}

// QEMU calls these at the start of a block. The first block of a thread goes another way, so that
// the others need no stack frame.
template <class Unit, void (Unit::*Enter)(const Block*)>
[[gnu::noinline, gnu::cold]] void on_first_block(void* data) {
  first_event();
  (static_cast<Unit*>(current_unit)->*Enter)(static_cast<const Block*>(data));
}

template <class Unit, void (Unit::*Enter)(const Block*)>
void on_block(unsigned, void* data) {
  auto* unit = static_cast<Unit*>(current_unit);
  if (unit == nullptr) [[unlikely]] {
    return on_first_block<Unit, Enter>(data);
  }
  (unit->*Enter)(static_cast<const Block*>(data));
}

// Kept code counts from the time when it was sent: a thread that did not send it itself has to say
// that it is past that time.
[[gnu::noinline, gnu::cold]] void pass_new_code(std::uint64_t sent) {
  current_thread->code_seen = sent;
  current_thread->tracer().before_new_code();
  current_thread->tracer().after_new_code();
}

// on_block() for kept code.
template <class Unit, void (Unit::*Enter)(const Block*)>
void on_kept_block(unsigned vcpu, void* data) {
  const std::uint64_t sent = recorder->code_sent.load(std::memory_order_acquire);
  if (current_thread != nullptr && current_thread->code_seen != sent) [[unlikely]] {
    pass_new_code(sent);
  }
  on_block<Unit, Enter>(vcpu, data);
}

template <class Unit, void (Unit::*Enter)(const Block*)>
constexpr UnitCallbacks::ByCode block_callbacks() {
  return {on_block<Unit, Enter>, on_kept_block<Unit, Enter>};
}

UnitCallbacks pt_callbacks() {
  using unit::PtUnit;
  return {.enter = block_callbacks<PtUnit, &PtUnit::enter<false>>(),
          .enter_counting = block_callbacks<PtUnit, &PtUnit::enter<true>>(),
          .enter_stepped = block_callbacks<PtUnit, &PtUnit::enter_stepped>(),
          .leave_filter = on_block<PtUnit, &PtUnit::leave_filter>,
          .make_off = [] -> void* { return new PtUnit; }};
}

template <class Unit>
UnitCallbacks walk_callbacks() {
  using Walk = unit::BranchWalk<Unit>;
  return {.enter = block_callbacks<Walk, &Walk::enter>(),
          .enter_counting = block_callbacks<Walk, &Walk::enter>(),
          .enter_stepped = block_callbacks<Walk, &Walk::enter_stepped>(),
          .leave_filter = on_block<Walk, &Walk::leave_filter>,
          .make_off = [] -> void* { return new Walk; }};
}

UnitCallbacks callbacks_of(std::string_view unit) {
  if (unit == "bts") return walk_callbacks<unit::BtsUnit>();
  if (unit == "lbr") return walk_callbacks<unit::LbrUnit>();
  return pt_callbacks();
}

// --- translation ---

struct Piece {  // instructions of one translated block that the filters treat alike
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t size = 0;  // bytes
  bool excluded = false;
};

isa::Mode mode() { return recorder->guest.wide() ? isa::Mode::bits64 : isa::Mode::bits32; }

void send_kept(std::uint64_t start, std::span<const std::uint8_t> code) {
  const relay::CodeRecord record{start};
  current_thread->send_code(RecordType::code, bytes_of(record), code);
  current_thread->code_seen = recorder->code_sent.fetch_add(1, std::memory_order_release) + 1;
}

// In a recording a mapping replaces what was there, also the code that was kept there: it comes
// again.
void send_mapping(const relay::MapRecord& where, std::string_view path) {
  current_thread->send_code(RecordType::map, bytes_of(where), text_of(path));
  for (const KnownCode::Piece& piece : recorder->known_code.pieces(where.start, where.length)) {
    send_kept(piece.address, piece.bytes);
  }
}

// Memory without a file is told of where code is in it, each part once.
void report_area(std::uint64_t address, const Mapping& mapping) {
  const auto area = recorder->areas.tell(address, {mapping.where.start, mapping.end()});
  if (!area) return;
  relay::MapRecord where;
  where.start = area->range.start;
  where.length = area->range.end - area->range.start;
  where.prot = recorder->guest.protection(address);
  send_mapping(where, area->name);
}

// Tells the recorder what the code at this address is from, once. The caller has the lock.
Mapping* report_mapping(std::uint64_t address) {
  Mapping* mapping = recorder->mappings.find(address);
  if (mapping == nullptr || mapping->reported) return mapping;
  // A name in brackets is of the emulator's own memory: [heap], [stack].
  if (mapping->path.empty() || mapping->path.starts_with('[')) report_area(address, *mapping);
  if (mapping->file == nullptr) return mapping;
  mapping->reported = true;
  relay::MapRecord where = mapping->where;
  where.prot = recorder->guest.protection(address);
  mapping->was_writable = (where.prot & PROT_WRITE) != 0;
  recorder->areas.forget({where.start, mapping->end()});
  send_mapping(where, mapping->path);
  recorder->filters.add_mapping(*mapping);
  return mapping;
}

// The same, or keeps the code itself if it is in no file. True: these bytes are kept.
bool report_code(std::uint64_t start, std::span<const std::uint8_t> code) {
  if (current_thread == nullptr) return false;
  Mapping* mapping = report_mapping(start);
  const bool in_file =
      mapping != nullptr && mapping->file != nullptr &&
      mapping->file->same(start - mapping->where.start + mapping->where.offset, code);
  if (in_file && !recorder->known_code.overlaps(start, code.size())) return false;
  if (recorder->known_code.learn(start, code) != KnownCode::News::none) send_kept(start, code);
  return true;
}

std::vector<Piece> split(std::span<const qemu_plugin_insn* const> insns) {
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < insns.size(); ++i) {
    const bool out = recorder->filters.excluded(qemu_plugin_insn_vaddr(insns[i]));
    if (pieces.empty() || pieces.back().excluded != out) pieces.push_back({i, 0, 0, out});
    ++pieces.back().count;
    pieces.back().size += qemu_plugin_insn_size(insns[i]);
  }
  return pieces;
}

void translate(qemu_plugin_id_t, qemu_plugin_tb* tb) {
  recorder->guest.look_at(*qemu_plugin_tb_get_insn(tb, 0));
  if (current_unit == nullptr) first_event();
  const std::uint64_t start = qemu_plugin_tb_vaddr(tb);
  const auto insns = insns_of(tb, mode());
  const std::vector<std::uint8_t> code = code_of(insns);
  const std::lock_guard lock(recorder->mutex);
  const bool kept = report_code(start, code);
  const bool count = current_thread != nullptr && current_thread->tracer().counts_cycles();
  const UnitCallbacks& call = recorder->callbacks;
  const qemu_plugin_cb_flags flags = recorder->guest.registers().callback_flags();
  std::size_t offset = 0;
  for (const Piece& piece : split(insns)) {
    const auto* last = insns[piece.first + piece.count - 1];
    Block found = describe(start + offset, std::span(code).subspan(offset, piece.size), piece.count,
                           qemu_plugin_insn_size(last), mode());
    if (is_signal_handler(found.start)) found.flags |= Block::kHandler;
    const Block* block = recorder->blocks.intern(found);
    const bool stepped = block->insns == 1 && block->cls == isa::InsnClass::other;
    const UnitCallbacks::ByCode& enter = stepped ? call.enter_stepped
                                         : count ? call.enter_counting
                                                 : call.enter;
    const auto callback = piece.excluded ? call.leave_filter : kept ? enter.kept : enter.in_file;
    auto* data = const_cast<Block*>(block);
    if (offset == 0) {
      qemu_plugin_register_vcpu_tb_exec_cb(tb, callback, flags, data);
    } else {
      qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, piece.first), callback,
                                             flags, data);
    }
    offset += piece.size;
  }
}

void on_flush(qemu_plugin_id_t) {
  const std::lock_guard lock(recorder->mutex);
  recorder->blocks.collect([](const Block* first, const Block* last) {
    return std::any_of(recorder->threads.begin(), recorder->threads.end(), [&](Thread* thread) {
      const Block* in_use = thread->tracer().current();
      return in_use != nullptr && in_use >= first && in_use < last;
    });
  });
}

// --- system calls ---

void execute(std::uint64_t path, std::uint64_t argv, std::uint64_t envp) {
  if (current_thread == nullptr || !current_thread->settings().follow_exec) return;
  const auto plan = plan_guest_exec(recorder->guest, path, argv, envp, current_thread->settings(),
                                    recorder->key, recorder->plugin_option, recorder->program);
  if (!plan) {
    if (plan.error().code == ErrorCode::unsupported) {
      current_thread->send(RecordType::native, {}, text_of(plan.error().message));
    }
    return;  // QEMU goes on with the call: it fails as it must, or runs the program natively
  }
  current_thread->leave();
  run(*plan);
  current_thread->stay();
}

void install_handler(std::uint64_t address) {
  if (address <= 1) return;  // SIG_DFL, SIG_IGN
  add_signal_handler(address);
  recorder->blocks.mark_handler(address);
}

// The arguments of mmap, munmap and mprotect: known at the call, used at its return.
struct MappingCall {
  std::uint64_t start = 0, length = 0, prot = 0;
  std::uint64_t end() const { return start + length; }
};
thread_local MappingCall mapping_call __attribute__((tls_model("initial-exec")));

void on_syscall(qemu_plugin_id_t, unsigned, std::int64_t number, std::uint64_t a1, std::uint64_t a2,
                std::uint64_t a3, std::uint64_t a4, std::uint64_t a5, std::uint64_t, std::uint64_t,
                std::uint64_t) {
  if (current_unit == nullptr) return;
  if (current_thread != nullptr) current_thread->tracer().leave_context();
  for (const TakenMemory& taken :
       memory_taken(recorder->guest.wide(), number, {a1, a2, a3, a4, a5})) {
    give_up_channels_in(taken);
  }
  switch (classify_syscall(recorder->guest.wide(), number)) {
    case Syscall::sets_handler:
      if (a2 != 0) install_handler(recorder->guest.read_word(a2).value_or(0));
      return;
    case Syscall::sets_handler_directly:
      return install_handler(a2);
    case Syscall::mmap:
    case Syscall::munmap:
    case Syscall::mprotect:
      mapping_call = {a1, a2, a3};
      return;
    case Syscall::execve:
      return execute(a1, a2, a3);
    case Syscall::sends_signal:
      // Maybe SIGKILL for itself: what is not sealed then the program may have taken back.
      if (current_thread != nullptr) current_thread->tracer().publish();
      return;
    case Syscall::clone:
      return on_clone(a1);
    case Syscall::exit_thread:
      return end_thread(a1, --recorder->alive == 0);
    case Syscall::exit_process:
      return end_thread(a1, true);
    default:
      return;
  }
}

// Code that the program may write to from now on, and what becomes of it later.
void report_rights(const MappingCall& call) {
  for (Mapping* mapping : recorder->mappings.reported_in(call.start, call.end())) {
    if ((call.prot & PROT_WRITE) == 0 && !mapping->was_writable) continue;
    mapping->was_writable = true;
    relay::MapRecord part = mapping->where;
    part.start = std::max(part.start, call.start);
    part.length = std::min(mapping->end(), call.end()) - part.start;
    part.offset += part.start - mapping->where.start;
    part.prot = static_cast<std::uint32_t>(call.prot);
    send_mapping(part, mapping->path);
  }
}

// Files that are mapped to be executed are reported now, while tracing is disabled, rather than at
// their first instruction.
void on_mapping_call(Syscall call, std::int64_t result) {
  const std::lock_guard lock(recorder->mutex);
  recorder->mappings.changed();
  if (result < 0 && result > -4096) return;
  const MappingCall& how = mapping_call;
  if (call == Syscall::brk) recorder->areas.set_break(static_cast<std::uint64_t>(result));
  if (call == Syscall::munmap) {
    recorder->areas.forget({how.start, how.end()});
    recorder->known_code.forget(how.start, how.length + 4095);  // whole pages
  }
  if (current_thread == nullptr) return;
  const bool executable = (how.prot & PROT_EXEC) != 0;
  if (call == Syscall::mmap && executable) report_mapping(static_cast<std::uint64_t>(result));
  if (call != Syscall::mprotect) return;
  report_rights(how);
  if (executable) report_mapping(how.start);
}

void on_syscall_return(qemu_plugin_id_t, unsigned, std::int64_t number, std::int64_t result) {
  const Syscall call = classify_syscall(recorder->guest.wide(), number);
  switch (call) {
    case Syscall::mmap:
    case Syscall::munmap:
    case Syscall::mprotect:
    case Syscall::brk:
    case Syscall::changes_mappings:
      return on_mapping_call(call, result);
    case Syscall::clone:
      return on_clone_return(result);
    case Syscall::prctl:
      if (current_thread != nullptr) current_thread->report_name();
      return;
    default:
      return;
  }
}

// --- processes ---

// The connection is made here, not in the child: this process may be gone before the child runs,
// and the recorder must not take the program for ended in between.
void before_fork() {
  recorder->mutex.lock();
  recorder->fork = {getpid(), gettid(), relay::connect_recorder(recorder->socket, recorder->key)};
}

void after_fork_in_parent() {
  close(recorder->fork.connection);
  recorder->mutex.unlock();
}

void after_fork_in_child() {
  recorder->mutex.unlock();
  for (Thread* thread : recorder->threads) {
    thread->forget();
    delete thread;
  }
  recorder->threads.clear();
  recorder->alive = 1;
  begin_thread(recorder->fork.connection, relay::Start::child, recorder->fork.pid,
               recorder->fork.tid);
}

std::string own_path() {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(&own_path), &info) != 0 ? info.dli_fname : "";
}

// The program may change its folder.
std::string absolute(std::string_view path) {
  std::error_code none;
  return std::filesystem::absolute(path, none).string();
}

int install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  const std::string_view target = info->target_name;
  if (info->system_emulation || (target != "x86_64" && target != "i386")) {
    std::fprintf(stderr,
                 "hodo: this plugin records programs under qemu-x86_64 and qemu-i386 only\n");
    return 1;
  }
  recorder = new Recorder;
  recorder->key = relay::take_key();
  std::string unit = "pt";
  bool probe = false;
  for (int i = 0; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option.starts_with("unit=")) unit = option.substr(5);
    if (option.starts_with("socket=")) recorder->socket = option.substr(7);
    if (option.starts_with("comm=")) recorder->comm = option.substr(5);
    if (option.starts_with("path=")) recorder->program = absolute(option.substr(5));
    probe = probe || option == relay::kProbeOption;
  }
  recorder->plugin_option =
      relay::escape_option(own_path()) + ",socket=" + recorder->socket + ",unit=" + unit;
  recorder->callbacks = callbacks_of(unit);
  set_emulator_version(*info);
  if (!recorder->guest.attach(target == "x86_64")) {
    std::fprintf(stderr,
                 "hodo: this QEMU gives no registers: neither by its plugin interface, as QEMU 9.0 "
                 "and later do, nor by qemu_get_cpu and x86_cpu_gdb_read_register, as Debian 12's "
                 "qemu-user 7.2 does\n");
    return 1;
  }
  if (probe) {
    std::puts(relay::kProbeAnswer);
    std::fflush(stdout);
    _exit(0);
  }
  leave_out_words_about_signals();
  watch_fatal_signals(before_fatal_signal);
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
  qemu_plugin_register_flush_cb(id, on_flush);
  qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
  qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_return);
  return 0;
}

}  // namespace
}  // namespace hodo::plugin

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  return hodo::plugin::install(id, info, argc, argv);
}
