// One thread's channel, mapped: the traced process's end and the recorder's end.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/relay/protocol.h"

namespace hodo::relay {

// What a channel takes of the address space.
constexpr std::uint64_t mapped_bytes(std::uint64_t aux_size) {
  return kHeaderBytes + 2 * kRecordBytes + 2 * aux_size;
}

// The memory of a channel. Each ring is mapped twice in a row, so that no record, packet or span is
// ever split at the end.
class ChannelMemory {
 public:
  // Maps `fd`; `aux_size` is a power of two and at least a page. With `private_to_process` a forked
  // child does not inherit the mapping, and there is no `unsealed()`. Errors: io.
  static Result<ChannelMemory> map(int fd, std::uint64_t aux_size, bool private_to_process);
  // The same of memory that is mapped already, in a process that has no C library.
  static ChannelMemory adopt(std::uint8_t* base, std::uint64_t aux_size, Unsealed* unsealed) {
    ChannelMemory memory(base, aux_size);
    memory.unsealed_ = unsealed;
    return memory;
  }
  ChannelMemory(ChannelMemory&& other) noexcept { *this = std::move(other); }
  ChannelMemory& operator=(ChannelMemory&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(aux_size_, other.aux_size_);
    std::swap(unsealed_, other.unsealed_);
    return *this;
  }
  ~ChannelMemory();

  ChannelHeader& header() const { return *reinterpret_cast<ChannelHeader*>(base_); }
  std::uint8_t* records() const { return base_ + kHeaderBytes; }
  std::uint8_t* aux() const { return base_ + kHeaderBytes + 2 * kRecordBytes; }
  std::uint64_t aux_size() const { return aux_size_; }
  // Apart from the rest; may be null.
  Unsealed* unsealed() const { return unsealed_; }
  // Lets go of the mappings without unmapping them: in a forked child, where they do not exist.
  void forget() { base_ = nullptr, unsealed_ = nullptr; }
  // Whether it shares a byte with [address, address + size).
  bool overlaps(std::uint64_t address, std::uint64_t size) const {
    const auto base = reinterpret_cast<std::uint64_t>(base_);
    return base_ != nullptr && (address - base < mapped_bytes(aux_size_) || base - address < size);
  }

 private:
  ChannelMemory(std::uint8_t* base, std::uint64_t aux_size) : base_(base), aux_size_(aux_size) {}
  std::uint8_t* base_ = nullptr;
  std::uint64_t aux_size_ = 0;
  Unsealed* unsealed_ = nullptr;
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
// Its fixed part, whose size belongs to its type; its payload as text.
template <class T>
T fixed_part(const Record& record) {
  T value;
  std::memcpy(&value, record.fixed.data(), sizeof(value));
  return value;
}
inline std::string_view text_of(const Record& record) {
  return {reinterpret_cast<const char*>(record.payload.data()), record.payload.size()};
}

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
  // `recording` as the channel's settings have it. The other end does not have the memory yet: what
  // is in it is the recorder's own.
  explicit ChannelReader(ChannelMemory memory, Recording recording = Recording::pt);

  // Looks at what the process has sealed since, which is what the following speak of.
  void look();

  // The next sideband record; nullopt when there is none now. The spans are valid until
  // release_records().
  std::optional<Record> next_record();
  void release_records();

  // How many bytes of whole packets, records or samples there are to take.
  std::uint64_t waiting() const {
    if (finished_) return remains_.size();
    return seal_.aux_head - aux_tail_;
  }
  // Takes them: a copy, valid until the next call, whose place in the ring is free again. Empty
  // where they are not what was sealed.
  std::span<const std::uint8_t> take();

  // The process is gone, or the channel closed: looks, and makes what the unit had pending part of
  // what can be taken. Afterwards nothing changes any more.
  void finish();

  // No more will come.
  bool closed() const { return (seal_.flags & kClosed) != 0; }
  // The process is about to execute another program.
  bool leaving() const { return (seal_.flags & kLeaving) != 0; }
  void stop();
  // Something else tells that the program works against its recording.
  void distrust(std::string what) { found(std::move(what)); }
  // The program has written over the channel: what take() and next_record() have given is right,
  // nothing that follows can be trusted. Empty, or what was found, in words.
  const std::string& damage() const { return damage_; }
  bool damaged() const { return !damage_.empty(); }
  // Where the trace that can be trusted ends.
  std::uint64_t trusted() const { return aux_tail_; }
  std::uint64_t overflows() const { return seal_.dropped; }
  std::uint64_t unexplained() const { return seal_.unexplained; }
  Recording recording() const { return recording_; }

 private:
  ChannelHeader& header() const { return memory_.header(); }
  void found(std::string what);
  std::optional<Seal> read_seal();
  void check_own_fields();
  void add_remains();
  void add_outcomes(std::span<const std::uint64_t> digests);
  void add_unsealed(std::uint64_t written);
  void add_to_digest(std::uint64_t place, std::span<const std::uint8_t> bytes);
  std::uint64_t digest() const;
  void wake_process();

  ChannelMemory memory_;
  Recording recording_;
  std::uint64_t key_;
  std::unique_ptr<const Settings> settings_;
  Seal seal_;  // the last good one
  std::uint64_t seal_number_ = 0;
  std::uint64_t record_read_ = 0;
  std::uint64_t record_released_ = 0;
  std::uint64_t aux_tail_ = 0;
  unit::StreamDigest records_;  // up to record_checked_
  std::uint64_t record_checked_ = 0;
  unit::StreamDigest stream_;           // of the AUX bytes that were taken: pt, lbr
  unit::RecordDigest bts_stream_;       // bts
  std::vector<std::uint8_t> sideband_;  // a copy of the records between two releases
  std::vector<std::uint8_t> taken_;
  std::vector<std::uint8_t> remains_;  // behind the last seal, of a process that is gone
  std::uint32_t drains_ = 0;
  bool stop_ = false;
  bool finished_ = false;
  std::string damage_;
};

// --- the traced process's end ---

// Connects to the recorder's socket `name` (abstract) and shows it the key. The recorder goes on
// for as long as this is open: a process that connects for the child it is about to fork will not
// be left behind. The caller owns the descriptor, which exec closes; negative: no recorder is
// there.
int connect_recorder(std::string_view name, const Key& key);
// The key that this process was given, which nobody finds in its environment afterwards.
Key take_key();

// The traced process's end of a channel. What it needs to know it keeps itself: in the channel
// anybody may have put anything.
class ChannelWriter {
 public:
  // Takes the settings and the key out of a channel that is new.
  explicit ChannelWriter(ChannelMemory memory);

  const Settings& settings() const { return *settings_; }
  std::uint8_t* aux() const { return memory_.aux(); }
  std::uint64_t aux_size() const { return memory_.aux_size(); }
  std::uint64_t key() const { return key_; }
  unit::PtRemains& remains() const { return memory_.header().remains; }
  Unsealed* unsealed() const { return memory_.unsealed(); }

  // Appends a sideband record, waiting for room if the recorder is alive. False: dropped.
  bool write_record(RecordHeader record, std::span<const std::uint8_t> fixed,
                    std::span<const std::uint8_t> payload);

  // Seals `written` bytes of AUX data of that digest.
  void seal_aux(std::uint64_t written, std::uint64_t digest);
  // The same, and returns how much room the AUX ring has. While that is less than a quarter of the
  // ring it waits for the recorder, up to `patience_ms`, and ten times as long while that runs: it
  // may have many threads to look after, or a busy machine. 0 if it is still less then, or over().
  std::uint64_t publish_aux(std::uint64_t written, std::uint64_t digest, unsigned patience_ms);
  // What the next seal says of losses.
  void count(std::uint64_t dropped, std::uint64_t unexplained);

  // Nothing shall be written any more: the recorder wants no more or is dead, or the channel is not
  // what it was.
  bool over() const;
  // The program has put its own bytes here, or is about to take the memory away: says so, and ends.
  void give_up();
  // The same from another thread, which must not seal: in a way that only the reader notices.
  void condemn() { header().stop.store(1, std::memory_order_release); }
  // The thread executes another program next, or has failed to.
  void leave(bool leaving);
  // All was sealed, and no more will come.
  void close();
  bool lies_in(std::uint64_t address, std::uint64_t size) const {
    return memory_.overlaps(address, size);
  }
  // In a forked child, where the mapping does not exist.
  void forget() { memory_.forget(); }

 private:
  ChannelHeader& header() const { return memory_.header(); }
  void seal();
  std::optional<unsigned> wait_for_recorder(unsigned ms);
  // How many bytes lie between the recorder's tail and `head`; more than the ring has: the tail is
  // none of the recorder's.
  std::uint64_t used(std::atomic<std::uint64_t>& tail, std::uint64_t& last, std::uint64_t head);

  ChannelMemory memory_;
  std::unique_ptr<const Settings> settings_;
  std::uint64_t key_ = 0;
  std::uint64_t recorder_ran_ = 0;  // processor time, in clock ticks, when it was last looked at
  Seal seal_;
  std::uint64_t seal_number_ = 0;
  unit::StreamDigest records_;
  std::uint64_t aux_tail_ = 0;  // as last seen
  std::uint64_t record_tail_ = 0;
};

// Says hello on a connection, closes it and maps the channel that comes back. Errors: io (no
// recorder there, or it refused).
Result<ChannelWriter> open_channel(int connection, const Hello& hello);

// The address of the recorder's socket and how to listen on it. Errors: io.
Result<int> listen_socket(const std::string& name);

}  // namespace hodo::relay
