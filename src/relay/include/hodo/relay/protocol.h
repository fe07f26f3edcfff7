// What a traced process and its recorder share.
//
// The traced process (the plugin inside QEMU) connects to the recorder's socket once per thread,
// says Hello, and receives a memory file: the thread's channel. From then on everything goes
// through that memory, so the program under test keeps no descriptor of ours, and whatever a killed
// process had written is still there for the recorder. Who forks makes its child's connection, so
// that the recorder knows of the child before it runs.
//
//   +---------------+----------------------+------------------------------+
//   | ChannelHeader | sideband records     | AUX: what the unit records   |
//   +---------------+----------------------+------------------------------+
//   0               kHeaderBytes           + kRecordBytes                 + aux_size
//
// Both rings count bytes without wrapping; a position is taken modulo the ring's size. The process
// moves the heads, the recorder the tails. The recorder trusts nothing in the channel: it lies in
// the address space of the program that is being judged.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "hodo/hw/ds_area.h"
#include "hodo/unit/pt_unit.h"

namespace hodo::relay {

inline constexpr std::uint32_t kMagic = 0x6f646f68;  // "hodo"
inline constexpr std::uint32_t kVersion = 3;
inline constexpr std::uint64_t kRecordBytes = 256 * 1024;
inline constexpr std::size_t kMaxPath = 4096;
inline constexpr std::size_t kMaxFilters = 4;  // as many as IA32_RTIT_ADDRn ranges

enum class Start : std::uint32_t {
  image,  // a program begins to run: the first one, or after an exec
  child,  // after fork
  thread,
  processor,  // of a virtual machine; tid is its index
};

// First and only message on the socket, answered by one byte with the channel's descriptor.
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
  std::uint32_t reserved = 0;
  std::uint64_t rtit_ctl = 0;       // pt
  std::uint64_t sample_period = 0;  // lbr: branches from sample to sample
  std::uint32_t filters = 0;
  std::array<Filter, kMaxFilters> filter;
  std::uint32_t follow_exec = 1;
  std::int32_t recorder_pid = 0;
  std::array<char, kMaxPath> qemu64{}, qemu32{};  // empty: not installed
  std::array<char, kMaxPath> watcher{};  // a second -plugin argument for children; or empty
};

enum class ChannelState : std::uint32_t { running, closed };

struct ChannelHeader {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint64_t aux_size = 0;
  Settings settings;

  alignas(64) std::atomic<std::uint64_t> aux_head = 0;      // process: whole packets up to here
  std::atomic<std::uint64_t> record_head = 0;               // process
  std::atomic<ChannelState> state = ChannelState::running;  // process
  std::atomic<std::uint32_t> waiting = 0;                   // process: sleeps until the tail moves
  alignas(64) std::atomic<std::uint64_t> aux_tail = 0;      // recorder
  std::atomic<std::uint64_t> record_tail = 0;               // recorder
  std::atomic<std::uint32_t> drained = 0;                   // recorder: futex, counts drains
  std::atomic<std::uint32_t> stop = 0;                      // recorder: write no more
  // Process; of bts and lbr. Records that found no room, and jumps that nothing explained.
  std::atomic<std::uint64_t> dropped = 0;
  std::atomic<std::uint64_t> unexplained = 0;
  // bts, process: where the AUX ring lies there, and the debug store area. Its index is an address
  // in the ring, behind the last record: what a killed process had not published yet.
  std::uint64_t ring_address = 0;
  alignas(64) std::array<std::uint8_t, hw::ds_area_bytes(hw::DsLayout::bits64)> ds_area{};
  alignas(64) unit::PtUnit unit;  // pt, process
};

inline constexpr std::uint64_t kHeaderBytes = (sizeof(ChannelHeader) + 4095) / 4096 * 4096;

// Sideband: what perf calls it when the kernel reports mappings, names and lifetimes.
enum class RecordType : std::uint16_t {
  map,     // MapRecord, path; without a file what the kernel calls it: //anon, [heap], [stack]
  code,    // CodeRecord, the bytes
  comm,    // the name; flag kExec: a new program
  exit,    // this thread ends
  mark,    // MarkRecord: a place in the AUX stream and its time
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
  std::uint32_t reserved = 0;
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
