// Several packets in a row whose way was taken before: bytes of trace that come again at the same
// place, as in loops and in traces of one program run again and again. One look-up and a comparison
// of the bytes replace a look-up for each packet.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hit_list.h"
#include "hodo/flow/decoder.h"
#include "often_seen.h"
#include "packet_bytes.h"
#include "path.h"
#include "return_guards.h"

namespace hodo::flow {

inline constexpr std::size_t kStretchBytes = 64;  // at most
inline constexpr std::size_t kLeastStretch = 32;
static_assert(kStretchBytes % 8 == 0);

// Packets and their bytes, of the types that can be remembered.
template <class Number>
struct CountsOf {
  Number pads = 0;
  Number tnts = 0, tnt_bytes = 0;
  Number tips = 0, tip_bytes = 0;
  Number begins = 0, begin_bytes = 0;  // TIP.PGE
  Number ends = 0, end_bytes = 0;      // TIP.PGD
  Number tnt_bits = 0;
};
using PacketCounts = CountsOf<std::uint16_t>;      // of a stretch
using LongPacketCounts = CountsOf<std::uint64_t>;  // of any number of packets

constexpr PacketCounts difference(const LongPacketCounts& a, const LongPacketCounts& b) {
  const auto minus = [](std::uint64_t x, std::uint64_t y) {
    return static_cast<std::uint16_t>(x - y);
  };
  return {minus(a.pads, b.pads),
          minus(a.tnts, b.tnts),
          minus(a.tnt_bytes, b.tnt_bytes),
          minus(a.tips, b.tips),
          minus(a.tip_bytes, b.tip_bytes),
          minus(a.begins, b.begins),
          minus(a.begin_bytes, b.begin_bytes),
          minus(a.ends, b.ends),
          minus(a.end_bytes, b.end_bytes),
          minus(a.tnt_bits, b.tnt_bits)};
}

template <class Number>
void add(LongPacketCounts& to, const CountsOf<Number>& more) {
  to.pads += more.pads;
  to.tnts += more.tnts;
  to.tnt_bytes += more.tnt_bytes;
  to.tips += more.tips;
  to.tip_bytes += more.tip_bytes;
  to.begins += more.begins;
  to.begin_bytes += more.begin_bytes;
  to.ends += more.ends;
  to.end_bytes += more.end_bytes;
  to.tnt_bits += more.tnt_bits;
}

struct Stretch {
  static constexpr std::size_t kMostGuards = 3;

  // What it does. Its key is key_of(); its pops may be more than one, and are taken off before its
  // pushes are put on, even if calls and returns took turns.
  Path path;
  std::array<std::uint8_t, kStretchBytes> bytes{};
  std::uint64_t last_ip = 0;  // before, for IP compression
  std::uint64_t next_last_ip = 0;
  std::array<ReturnGuard, kMostGuards> guards{};
  std::uint8_t guard_count = 0;
  std::uint8_t length = 0;  // of the bytes
  bool enabled_after = false;
  PacketCounts packets;

  bool is(std::uint64_t ip, std::uint64_t key, std::uint8_t what) const {
    return path.ip == ip && path.key == key && path.what == what;
  }
  // Whether the packets at `at`, where kStretchBytes can be read, are these.
  bool same_bytes(const std::uint8_t* at) const;
  // Whether the return stack is as it was as far as that matters.
  bool fits(const ReturnStack& returns) const;
};

inline bool Stretch::same_bytes(const std::uint8_t* at) const {
  return hodo::flow::same_bytes(at, bytes.data(), length);
}

inline bool Stretch::fits(const ReturnStack& returns) const {
  return has_room(returns, path.pops, path.peak) &&
         hold(std::span(guards).first(guard_count), returns);
}

class StretchTable {
 public:
  StretchTable() { clear(); }

  // What tells stretches apart besides their address and mode, but for their later bytes.
  static std::uint64_t key_of(const std::uint8_t* at, std::uint64_t last_ip,
                              std::uint64_t top_return) {
    static_assert(kLeastStretch == 32);
    return load_word(at) * 0x9e3779b97f4a7c15u ^ load_word(at + 8) * 0xbf58476d1ce4e5b9u ^
           load_word(at + 16) * 0x94d049bb133111ebu ^ load_word(at + 24) * 0xff51afd7ed558ccdu ^
           last_ip * 0xc4ceb9fe1a85ec53u ^ top_return * 0xd6e8feb86659fd93u;
  }

  // The same of all kStretchBytes, for a place and its key.
  static std::uint64_t whole_key(std::uint64_t key, const std::uint8_t* at) {
    for (std::size_t i = kLeastStretch; i < kStretchBytes; i += 8) {
      key = (key ^ load_word(at + i)) * 0xd6e8feb86659fd93u;
      key ^= key >> 32;
    }
    return key * 0xd6e8feb86659fd93u;
  }

  // The one with this place and key that `usable` says yes to; null: there is none.
  template <class Usable>
  Stretch* find(std::uint64_t ip, std::uint64_t key, std::uint8_t what, Usable usable) {
    for (std::size_t at = slot(ip, key, what);; at = (at + 1) & (table_.size() - 1)) {
      Stretch& stretch = table_[at];
      if (stretch.path.what == 0) return nullptr;
      if (stretch.is(ip, key, what) && usable(stretch)) return &stretch;
    }
  }
  void hit(Stretch& stretch) {
    if (stretch.path.hits++ == 0) hits_.add(static_cast<std::size_t>(&stretch - table_.data()));
  }
  // Beside those with the same key, unless they are too many.
  void remember(const Stretch& stretch);
  bool full() const { return count_ >= kMost; }
  void clear();
  // As HitList has them; visit(stretch, times).
  std::size_t before() const { return hits_.before(); }
  std::size_t again() { return hits_.again(path_at()); }
  void forget_before() { hits_.forget_before(path_at()); }
  template <class Visit>
  void settle(Visit visit) {
    hits_.settle(path_at(), [&](std::size_t at, std::uint64_t times) { visit(table_[at], times); });
  }

  // Whether to look for a stretch at a packet: always behind the last one, else now and then,
  // mostly where the bytes say so, that is, at the same places when they come again. Where the data
  // decides, bytes do not come again, and then it soon costs next to nothing to ask.
  bool worth_a_look(const std::uint8_t* at) {
    constexpr unsigned kOneIn = 3;  // power of two
    const bool here = load_word(at) * 0xd6e8feb86659fd93u >> (64 - kOneIn) == 0;
    if (!std::exchange(behind_one_, false) && !here && ++passed_ < kMostPassed) return false;
    passed_ = 0;
    if (pause_ == 0) return true;
    --pause_;
    return false;
  }
  void paid() {
    behind_one_ = true;
    patience_ = kPatience;
    next_pause_ = kLeastPause;
  }
  void built() { behind_one_ = true; }
  // Whether kStretchBytes at `at` came before at a place with this key.
  bool came_before(std::uint64_t ip, std::uint64_t key, const std::uint8_t* at);

 private:
  static constexpr std::size_t kLeastSize = 1 << 8;
  static constexpr std::size_t kMost = 1 << 16;
  static constexpr int kMostAlike = 8;  // with the same key
  static constexpr std::uint32_t kMostPassed = 16;
  static constexpr std::uint32_t kPatience = 256;
  static constexpr std::uint32_t kLeastPause = 64;
  static constexpr std::uint32_t kMostPause = 1 << 12;

  std::size_t slot(std::uint64_t ip, std::uint64_t key, std::uint8_t what) const {
    const std::uint64_t hash = (ip * 0x9e3779b97f4a7c15u) ^ ((key + what) * 0xd6e8feb86659fd93u);
    return static_cast<std::size_t>(hash >> shift_);
  }
  struct PathAt {
    std::vector<Stretch>& table;
    Path& operator()(std::size_t at) const { return table[at].path; }
  };
  PathAt path_at() { return {table_}; }
  std::size_t insert(const Stretch& stretch);
  void grow();

  std::vector<Stretch> table_;  // open addressing, at most half full
  unsigned shift_ = 0;
  std::size_t count_ = 0;
  HitList hits_;
  OftenSeen seen_;
  bool behind_one_ = false;
  std::uint32_t passed_ = 0;
  std::uint32_t patience_ = kPatience;
  std::uint32_t pause_ = 0;
  std::uint32_t next_pause_ = kLeastPause;
};

class PathMemo;

// Puts a stretch together from the paths that are taken.
class StretchBuilder {
 public:
  void begin(std::uint64_t ip, std::uint64_t key, std::uint8_t what, std::uint64_t last_ip,
             const std::uint8_t* at, const LongPacketCounts& counted);
  // `guard`: the return address that the path, a compressed return, was taken for.
  void append(const Path& path, std::optional<std::uint64_t> guard, PathMemo& memo);

  // How many paths have been appended.
  unsigned appended() const { return appended_; }
  bool building() const { return at_ != nullptr; }
  // The next packet must end before.
  const std::uint8_t* limit() const { return at_ + kStretchBytes; }
  bool has_room() const { return possible_ && edges_.size() < kMostPathEdges / 2; }
  void give_up() { at_ = nullptr; }
  // Remembers what has been appended, up to `end`; `counted` is what begin() was given and the
  // packets since then.
  void finish(const std::uint8_t* end, const LongPacketCounts& counted, std::uint64_t last_ip,
              bool enabled, PathMemo& memo);

 private:
  static constexpr std::size_t kMostCalls = 32;

  Stretch made_;
  std::vector<std::uint32_t> edges_;    // their numbers in the memo
  std::vector<std::uint64_t> returns_;  // pushed and not popped again
  unsigned pops_ = 0;
  unsigned appended_ = 0;
  bool possible_ = true;
  const std::uint8_t* at_ = nullptr;
  LongPacketCounts counted_before_;
};

}  // namespace hodo::flow
