// One thread's channel, mapped: the traced process's end and the recorder's end.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/relay/protocol.h"

namespace hodo::relay {

// The memory of a channel. Each ring is mapped twice in a row, so that no record, packet or span is
// ever split at the end.
class ChannelMemory {
 public:
  // Maps `fd`; `aux_size` is a power of two and at least a page. With `private_to_process` a forked
  // child does not inherit the mapping. Errors: io.
  static Result<ChannelMemory> map(int fd, std::uint64_t aux_size, bool private_to_process);
  ChannelMemory(ChannelMemory&& other) noexcept { *this = std::move(other); }
  ChannelMemory& operator=(ChannelMemory&& other) noexcept;
  ~ChannelMemory();

  ChannelHeader& header() const { return *reinterpret_cast<ChannelHeader*>(base_); }
  std::uint8_t* records() const { return base_ + kHeaderBytes; }
  std::uint8_t* aux() const { return base_ + kHeaderBytes + 2 * kRecordBytes; }
  std::uint64_t aux_size() const { return aux_size_; }
  // Lets go of the mapping without unmapping it: in a forked child, where it does not exist.
  void forget() { base_ = nullptr; }

 private:
  ChannelMemory(std::uint8_t* base, std::uint64_t aux_size) : base_(base), aux_size_(aux_size) {}
  std::uint8_t* base_ = nullptr;
  std::uint64_t aux_size_ = 0;
};

// --- the recorder's end ---

// Makes the memory file of a new channel. The caller owns the descriptor. Errors: io.
Result<int> create_channel_file(std::uint64_t aux_size, const Settings& settings);

// A sideband record as found in a channel, checked: the spans lie within the ring.
struct Record {
  RecordHeader header;
  std::span<const std::uint8_t> fixed;  // MapRecord or CodeRecord, or empty
  std::span<const std::uint8_t> payload;
};

// A StackSample and its entries.
struct Stack {
  StackSample sample;
  std::span<const std::uint8_t> entries;
};
// Takes the first stack off `bytes`; nullopt, and `bytes` as they were, if none begins there.
std::optional<Stack> take_stack(std::span<const std::uint8_t>& bytes);

// The recorder's view of one channel. Everything it reads may have been forged by the program.
class ChannelReader {
 public:
  // `recording` as the channel's settings have it.
  explicit ChannelReader(ChannelMemory memory, Recording recording = Recording::pt)
      : memory_(std::move(memory)), recording_(recording) {}

  // The next sideband record; nullopt when there is none now, or after damage(). The spans are
  // valid until release_records().
  std::optional<Record> next_record();
  void release_records();

  // What is there now, ending with a whole packet, record or sample; valid until release_aux.
  std::span<const std::uint8_t> aux() const;
  void release_aux(std::size_t bytes);
  // Recording::lbr: takes the first stack off `bytes`, which are of aux(). nullopt when they are
  // empty, or after damage().
  std::optional<Stack> take_stack(std::span<const std::uint8_t>& bytes) const;

  // The process is gone, or the channel closed: makes what the unit had pending part of aux().
  void finish();

  bool closed() const {
    return header().state.load(std::memory_order_acquire) == ChannelState::closed;
  }
  void stop() { header().stop.store(1, std::memory_order_release); }
  // The program has overwritten the channel; nothing that follows can be trusted.
  bool damaged() const { return damaged_; }
  std::uint64_t overflows() const {
    return header().unit.overflows() + header().dropped.load(std::memory_order_relaxed);
  }
  std::uint64_t unexplained() const {
    return header().unit.unexplained() + header().unexplained.load(std::memory_order_relaxed);
  }
  Recording recording() const { return recording_; }

 private:
  ChannelHeader& header() const { return memory_.header(); }
  void wake_process();
  std::uint64_t end_of_packets() const;
  std::uint64_t end_of_bts_records() const;

  ChannelMemory memory_;
  Recording recording_;
  std::uint64_t record_read_ = 0;
  std::uint64_t record_released_ = 0;
  std::uint64_t aux_tail_ = 0;
  std::uint64_t aux_end_ = 0;  // after finish(): where the stream ends
  bool finished_ = false;
  mutable bool damaged_ = false;
};

// --- the traced process's end ---

// Connects to the recorder's socket `name` (abstract). The recorder goes on for as long as this is
// open: a process that connects for the child it is about to fork will not be left behind. The
// caller owns the descriptor, which exec closes; negative: no recorder is there.
int connect_recorder(std::string_view name);

// Says hello on a connection, closes it and maps the channel that comes back. Errors: io (no
// recorder there, or it refused).
Result<ChannelMemory> open_channel(int connection, const Hello& hello);

// Appends a sideband record, waiting for room if the recorder is alive. False: dropped.
bool write_record(ChannelMemory& memory, RecordHeader record, std::span<const std::uint8_t> fixed,
                  std::span<const std::uint8_t> payload);

// Publishes `written` bytes of packets and returns how much room the AUX ring has. While that is
// less than a quarter of the ring it waits for the recorder, up to `patience_ms`; 0 if it is still
// less then, or the recorder is dead, or wants no more.
std::uint64_t publish_aux(ChannelMemory& memory, std::uint64_t written, unsigned patience_ms);

// The address of the recorder's socket and how to listen on it. Errors: io.
Result<int> listen_socket(const std::string& name);

}  // namespace hodo::relay
