// What a traced process and its recorder share.
//
// The traced process (the engine in it, or the plugin inside QEMU) connects to the recorder's
// socket once per thread, shows the recording's key, says Hello, and receives a memory file: the
// thread's channel. From then on everything goes through that memory, so the program under test
// keeps no descriptor of ours, and whatever a killed process had written is still there for the
// recorder. Who forks makes its child's connection, so that the recorder knows of the child before
// it runs.
//
//   +---------------+----------------------+------------------------------+----------+
//   | ChannelHeader | sideband records     | AUX: what the unit records   | Unsealed |
//   +---------------+----------------------+------------------------------+----------+
//   0               kHeaderBytes           + kRecordBytes                 + aux_size
//
// Both rings count bytes without wrapping; a position is taken modulo the ring's size. The process
// moves the heads, the recorder the tails.
//
// The channel lies in the address space of the program that is being judged. So neither end takes
// back from it what it has put there: the process keeps its unit, its positions and its settings
// elsewhere, and what it hands over is under a Seal, which nobody can make without the channel's
// key. The recorder believes what the last seal covers, copies it, and then compares.
// docs/trust.md says what follows.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "hodo/unit/pt_unit.h"

namespace hodo::relay {

inline constexpr std::uint32_t kMagic = 0x6f646f68;  // "hodo"
inline constexpr std::uint32_t kVersion = 18;
inline constexpr std::uint64_t kRecordBytes = 256 * 1024;
inline constexpr std::size_t kMaxPath = 4096;
inline constexpr std::size_t kMaxFilters = 4;  // as many as IA32_RTIT_ADDRn ranges

// A plugin that is given this option does not run the program: it prints the answer, if it has
// found all that it needs of the emulator, and ends.
inline constexpr const char* kProbeOption = "probe=on";
inline constexpr const char* kProbeAnswer = "hodo's plugin is loaded";

// What tells a traced process from any other: random, and in nothing that another user can read,
// nor in a channel. It comes to the plugin in a variable, as hexadecimal digits, and is the first
// message on the socket.
using Key = std::array<char, 32>;
inline constexpr const char* kKeyVariable = "HODO_KEY";

enum class Start : std::uint32_t {
  image,  // a program begins to run: the first one, or after an exec
  child,  // after fork
  thread,
  executes,   // the thread asks to be taken over behind its next exec: see Takeover
  processor,  // of a virtual machine; tid is its index
  attached,   // a thread that runs already
  mappings,   // asks for its process's /proc/PID/maps in place of a channel: it has no /proc itself
  page,  // asks whether memory at Hello::address is a page of its file still (/proc/PID/pagemap):
         // the recorder answers with a byte if it is, else the connection is closed
  unrecorded,  // a thread has been given a channel, and has no memory to map it: nothing comes back
  line,  // the connection stays: further ones come on it, each an end of a pair (SCM_RIGHTS) with a
         // byte
  unmounts,  // a file system could not be unmounted: the recorder lets go of its files, and answers
             // with a byte
  unnames,  // a file whose code is mapped is about to lose its name: the recorder opens what it has
            // been told of, and answers with a byte
  copies,   // a file that another process serves (FUSE) has been mapped, and is sent along
            // (SCM_RIGHTS) if it could be opened: the recorder copies it, and answers with a byte
  dies,     // of a signal that writes a core file; the process's other threads have stopped: the
         // recorder holds them with ptrace, with the program's registers, and answers with a byte
  traces,  // is about to trace Hello::traced, or be traced itself: the recorder lets go of that,
           // and answers with a byte; if it cannot, the connection is closed
};

// That connection, as a descriptor of the process.
struct Line {
  std::int32_t number = -1;
  std::uint32_t padding = 0;
  std::uint64_t inode = 0;  // of the socket; 0: there is none
};

// The answer to Start::executes, in place of a channel: the recorder holds the thread with ptrace.
// It lets go when the connection is closed: by the exec, or because that has failed.
inline constexpr char kTakesOver = 'y';
// Or it does not; then why follows, in words for the user, or nothing if nobody need be told.
inline constexpr char kLeavesAlone = 'n';
inline constexpr std::size_t kLongestReason = 200;

// Second and last message on the socket, answered by one byte with the channel's descriptor.
struct Hello {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::int32_t pid = 0;
  std::int32_t tid = 0;
  std::int32_t parent_pid = 0;  // Start::child: who forked. Start::thread: pid.
  std::int32_t parent_tid = 0;
  Start start = Start::image;
  std::uint32_t bits = 64;  // of the program: 64 or 32
  std::uint64_t time = 0;   // CLOCK_MONOTONIC, ns
  std::array<char, 16> comm{};
  Line line;                  // Start::executes: what the program is to go on with
  std::uint64_t device = 0;   // Start::unmounts: of the file system, st_dev
  std::uint64_t address = 0;  // Start::page
  std::uint64_t inode = 0;    // Start::copies: of the file, whose device is 0:minor
  std::int32_t traced = 0;    // Start::traces: a thread; 0: the sender, which is answered before
  std::uint32_t minor = 0;
};

struct Filter {
  std::uint64_t start = 0;  // offset in `object`, or an address if that is empty
  std::uint64_t size = 0;
  std::array<char, kMaxPath> object{};
};

// Which part of the trace unit records, and so what the AUX ring holds.
enum class Recording : std::uint32_t {
  pt,   // Intel PT packets
  bts,  // BTS records of 64 bits, hw::BtsRecord
  lbr,  // a StackSample with its entries, whenever so many branches have been taken
};

// What the recorder asks for; the same for all channels of a recording.
struct Settings {
  Recording recording = Recording::pt;
  std::uint32_t follow_exec = 1;
  std::int32_t recorder_pid = 0;
  std::uint32_t filters = 0;
  std::array<Filter, kMaxFilters> filter;
  std::uint64_t rtit_ctl = 0;                     // pt
  std::uint64_t sample_period = 0;                // lbr: branches from sample to sample
  std::array<char, kMaxPath> qemu64{}, qemu32{};  // empty: not installed
  std::array<char, kMaxPath> watcher{};  // a second -plugin argument for children; or empty
};
// Compared as bytes.
static_assert(std::has_unique_object_representations_v<Settings>);

// What the process has handed over, and how it stands with the thread.
struct Seal {
  std::uint64_t aux_head = 0;       // whole packets, records or samples up to here
  std::uint64_t aux_digest = 0;     // of all bytes up to there: unit::StreamDigest or RecordDigest
  std::uint64_t record_head = 0;    // sideband
  std::uint64_t record_digest = 0;  // unit::StreamDigest
  std::uint64_t dropped = 0;        // gaps where something found no room
  std::uint64_t unexplained = 0;    // jumps that nothing explained
  std::uint64_t flags = 0;
  std::uint64_t mac = 0;
};
inline constexpr std::uint64_t kClosed = 1;       // no more will come
inline constexpr std::uint64_t kStopped = 2;      // the recorder wanted no more
inline constexpr std::uint64_t kOverwritten = 4;  // the process has found others' bytes in here
inline constexpr std::uint64_t kLeaving = 8;      // it is about to execute another program

constexpr std::uint64_t mac_of(const Seal& seal, std::uint64_t number, std::uint64_t key) {
  std::uint64_t mac = unit::digest_word(key, number);
  for (const std::uint64_t word :
       {seal.aux_head, seal.aux_digest, seal.record_head, seal.record_digest, seal.dropped,
        seal.unexplained, seal.flags, key}) {
    mac = unit::digest_word(mac, word);
  }
  return mac;
}

struct ChannelHeader {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint64_t aux_size = 0;
  std::uint64_t key = 0;  // the process takes it, and leaves 0
  Settings settings;

  // Process. Seal number n lies in seals[n % 2]; the next one goes into the other.
  alignas(64) std::atomic<std::uint64_t> sealed = 0;
  std::array<Seal, 2> seals{};
  std::atomic<std::uint32_t> waiting = 0;  // it sleeps until a tail moves
  // What a killed process leaves behind the last seal. Of bts only the digest, a RecordDigest.
  alignas(64) unit::PtRemains remains;

  // Recorder.
  alignas(64) std::atomic<std::uint64_t> aux_tail = 0;
  std::atomic<std::uint64_t> record_tail = 0;
  std::atomic<std::uint32_t> drained = 0;  // futex, counts drains
  std::atomic<std::uint32_t> stop = 0;     // write no more
};

inline constexpr std::uint64_t kHeaderBytes = (sizeof(ChannelHeader) + 4095) / 4096 * 4096;

// Where the engine writes packets before it hands them over: not a part of the channel, but memory
// of its own, whose file the recorder has, too. Of a process that is killed the recorder takes what
// lies there behind the place where the last ones that were handed over end, up to a byte of 0: so
// much is cleared whenever there is room for more.
struct Unsealed {
  std::array<std::uint8_t, 8192> packets{};
  std::uint64_t place = 0;  // unsealed_place(), or kNoUnsealed
};
inline constexpr std::uint64_t kUnsealedBytes = (sizeof(Unsealed) + 4095) / 4096 * 4096;
// What has been handed over ends behind so many bytes of the stream, and at this index.
constexpr std::uint64_t unsealed_place(std::uint64_t written, std::uint64_t at) {
  return written << 16 | at;
}
inline constexpr std::uint64_t kNoUnsealed = ~std::uint64_t{0};

// Sideband: what perf calls it when the kernel reports mappings, names and lifetimes.
enum class RecordType : std::uint16_t {
  map,     // MapRecord, path; without a file what the kernel calls it: //anon, [heap], [stack]
  code,    // CodeRecord, the bytes
  comm,    // the name; flag kExec: a new program
  exit,    // this thread ends
  end,     // EndRecord: this process ends, and how
  mark,    // MarkRecord: a place in the AUX stream and its time
  cache,   // CacheRecord: this process ends, and what the engine took for it
  native,  // the path of a program that runs on without being recorded, and why, after a NUL
  // Of virtual machines, where a channel belongs to a virtual processor:
  guest_task,    // GuestTask, its name; flag kExec: it runs a new program
  guest_fork,    // GuestFork: a process that is new; its guest_task follows
  guest_exit,    // GuestTask: it ends
  guest_switch,  // GuestTask: this processor runs it from here on
  guest_map,     // GuestMap, the path in the guest, a NUL, the file's build-id if it has one
  guest_code,    // GuestCode, the bytes
  guest_symbol,  // GuestSymbol, its name: kernel code that guest_code records of the kernel bring
  guest_note,    // a line for the user
};

struct RecordHeader {
  std::uint32_t size = 0;  // with this header, a multiple of 8
  RecordType type = RecordType::map;
  std::uint16_t flags = 0;
  std::uint32_t payload = 0;  // bytes after the fixed part
  std::int32_t tid = 0;
  std::uint64_t time = 0;
};
inline constexpr std::uint16_t kExec = 1;

struct MapRecord {
  std::uint64_t start = 0, length = 0, offset = 0;
  std::uint64_t inode = 0;
  std::uint32_t major = 0, minor = 0;
  std::uint32_t prot = 0;  // PROT_*, as the program asked for; in a guest_map: 0
  // 1: this thread is in the system call by which the program got the right to execute that memory,
  // which is in no file; else 0.
  std::uint16_t granted = 0;
  std::uint16_t shared = 0;  // 1: with the file itself (MAP_SHARED); 0: not, or not known
};

// What an access to memory was for that could not be made.
enum class Access : std::uint32_t { none, read, write, execute };

// How the process ends.
struct EndRecord {
  std::int32_t exit_status = -1;  // of exit_group(2); -1: a signal ends it
  std::int32_t signal = 0;
  std::uint64_t ip_known = 0;  // 1, or 0: it was in a system call, or nobody knows
  std::uint64_t ip = 0;        // where this thread was then
  // 1: a filter of system calls (seccomp) judges the call that is to end it, which may end
  // otherwise.
  std::uint64_t is_judged = 0;
  // Of a page fault that raised the signal.
  Access access = Access::none;
  std::uint32_t unmapped = 0;  // 1: nothing is mapped there
  std::uint64_t address = 0;   // that was accessed
};

// Of the engine's code cache, in bytes.
struct CacheRecord {
  std::uint64_t code = 0;  // of the program's that were translated, some more than once
  std::uint64_t made = 0;  // of what was made of them, tables included, in all editions
  std::uint64_t most = 0;  // of one edition
  std::uint64_t editions = 0;
};

struct CodeRecord {
  std::uint64_t address = 0;
};

// What stands before `position` in the AUX stream was recorded until the header's time. BTS records
// tell no time; the code that they ran may be replaced from here on.
struct MarkRecord {
  std::uint64_t position = 0;
  std::uint64_t dropped = 0;  // records that are missing there
};

// In the AUX ring of Recording::lbr, followed by `entries` times StackEntry, newest first.
struct StackSample {
  std::uint64_t time = 0;
  std::uint64_t ip = 0;
  std::uint64_t entries = 0;  // at most kMaxStack
};
// struct perf_branch_entry.
struct StackEntry {
  std::uint64_t from = 0, to = 0, flags = 0;
};
inline constexpr std::uint64_t kMaxStack = 64;

// A thread of a guest, by the numbers that the guest has for it. -1: the kernel.
struct GuestTask {
  std::int32_t pid = -1, tid = -1;
};
struct GuestFork {
  GuestTask task, parent;
};
struct GuestMap {
  GuestTask task;
  MapRecord where;
};
struct GuestCode {
  GuestTask task;
  std::uint64_t address = 0;
};
struct GuestSymbol {
  std::uint64_t address = 0, size = 0;
};

}  // namespace hodo::relay
