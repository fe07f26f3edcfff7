// The stretches of packets of which it is known what they do (learned.h), by their bytes.
//
// A trace is cut into them at places that the bytes themselves say, so that bytes that come again
// are cut in the same way wherever the first of them was looked at.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "learned.h"
#include "often_seen.h"
#include "packed_room.h"
#include "packet_bytes.h"
#include "return_stack.h"
#include "stretch.h"

namespace hodo::flow {

// Where a stretch begins; kMostBytes can be read there.
struct StretchBegin {
  Link from = kNoLink;
  std::uint64_t last_ip = 0;  // for IP compression
  const std::uint8_t* at = nullptr;
  const ReturnStack& returns;
};

template <bool kExact>
struct KeptStretch {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  Link from = kNoLink;
  Link next_from = kNoLink;
  std::uint32_t next = kNone;  // the place of the one that was taken behind it last, from there
  std::uint64_t last_ip = 0;   // before,
  std::uint64_t last_ip_behind = 0;
  std::uint8_t length = 0;  // of the bytes, which stand behind this
  std::uint8_t pops = 0;    // taken off the return stack before anything is put on,
  std::uint8_t peak = 0;    // which rises so far meanwhile
  PacketCounts packets;
  Learned<kExact, Kept> does;

  const std::uint8_t* bytes() const { return reinterpret_cast<const std::uint8_t*>(this + 1); }
  bool begins(const StretchBegin& here) const {
    return from == here.from && last_ip == here.last_ip && same_bytes(here.at, bytes(), length) &&
           fits(here.returns);
  }
  bool fits(const ReturnStack& returns) const {
    return has_room(returns, pops, peak) && hold(does.guards, returns);
  }
};

template <bool kExact>
class LearnedStretches {
 public:
  using Stretch = KeptStretch<kExact>;
  static constexpr std::size_t kMostBytes = kStretchBytes;
  static constexpr std::size_t kLeastBytes = kLeastStretch;

  // Whether a stretch that began there ends here, where a word can be read.
  static bool ends(const std::uint8_t* begin, const std::uint8_t* at) {
    constexpr unsigned kOneIn = 2;  // power of two, of packets
    const auto length = static_cast<std::size_t>(at - begin);
    if (length < kLeastBytes) return false;
    return length > kMostBytes - kMostPacket || load_word(at) * kMix >> (64 - kOneIn) == 0;
  }
  // Other bytes are read from here on.
  void begin() {
    looked_at_ = nullptr;
    last_ = nullptr;
  }
  // Whether to look for one at a packet: where one that began at the last look would end, if
  // may_begin(). Where too few are found not at all for a while, longer each time.
  template <class MayBegin>
  bool worth_a_look(const std::uint8_t* at, MayBegin may_begin) {
    if (pause_ != 0) [[likely]] {
      --pause_;
      return false;
    }
    if (looked_at_ != nullptr && !ends(looked_at_, at)) return false;
    if (!may_begin()) return false;
    looked_at_ = at;
    if (++looks_ == patience_) judge();
    return true;
  }

  // What is known of a place, and if nothing is, whether to learn it.
  struct Found {
    Stretch* stretch = nullptr;
    bool to_learn = false;
    std::uint32_t tag = 0;
    std::uint32_t whole_tag = 0;  // of all bytes
    bool useless = false;         // it was tried before
  };
  Found find(const StretchBegin& here) {
    if (last_ != nullptr && last_->next_from == here.from) {
      Stretch& next = at(last_->next);
      if (next.begins(here)) return {.stretch = &next};
    }
    const std::uint64_t hash = hash_of(here);
    Found out{.tag = tag_of(hash)};
    unsigned alike = 0;
    for (std::size_t i = first_slot(out.tag); !slots_[i].is_empty(); i = behind(i)) {
      if (slots_[i].tag != out.tag || slots_[i].is_useless()) continue;
      Stretch& known = at(slots_[i].what);
      if (known.begins(here)) {
        if (last_ != nullptr) {
          last_->next = slots_[i].what;
          last_->next_from = here.from;
        }
        out.stretch = &known;
        return out;
      }
      ++alike;
    }
    if (alike < kMostAlike) ask_of(StretchTable::whole_key(hash, here.at), out);
    return out;
  }
  // One that find() said is to be learned, and what it does. Null: it is too long.
  Stretch* add(const Found& found, Stretch stretch, const std::uint8_t* bytes,
               const Learned<kExact>& does) {
    const std::size_t words = words_of(stretch, does);
    if (words > PackedRoom::kMostWords) return nullptr;
    const std::uint32_t place = room_.reserve(words);
    Stretch& out = room_.put(stretch);
    (void)room_.put_list(std::span(bytes, stretch.length));
    out.does = keep(does);
    insert({found.tag, place});
    ++learned_;
    return &out;
  }
  void add_useless(const Found& found) {
    if (found.useless) return;
    insert({found.whole_tag, Slot::kUseless});
    ++useless_;
  }
  // There is no room for more. It may be cleared then, if it has paid.
  bool full() const { return learned_ + useless_ >= kMost || room_.size() >= kMostRoom; }
  bool has_paid() const { return taken_ >= kWorth * kMost; }
  void clear() { *this = {}; }

  // It is about to be taken.
  void takes(const Stretch& stretch) {
    if (stretch.next != Stretch::kNone) prefetch(at(stretch.next));
  }
  void took(Stretch& stretch) {
    last_ = &stretch;
    ++hits_;
    ++taken_;
  }

 private:
  static constexpr std::uint64_t kMix = 0xd6e8feb86659fd93u;
  static constexpr std::size_t kMostPacket = 9;  // bytes
  static constexpr std::size_t kMost = std::size_t{1} << 14;
  static constexpr std::size_t kMostRoom = std::size_t{32} << 20;
  static constexpr std::size_t kWorth = 8;  // times that each was taken
  static constexpr unsigned kMostAlike = 8;
  static constexpr unsigned kTimes = 2;  // that it came before it is learned
  static constexpr std::size_t kLeastSlots = std::size_t{1} << 8;
  static constexpr std::uint32_t kLearning = 1 << 14;  // looks until it is judged
  static constexpr std::uint32_t kPatience = 1 << 12;
  static constexpr std::uint32_t kLeastPause = 1 << 16;  // packets
  static constexpr std::uint32_t kMostPause = 1 << 22;

  struct Slot {
    static constexpr std::uint32_t kEmpty = ~std::uint32_t{0};
    // What nothing could be learned of, and behind it how often it came again.
    static constexpr std::uint32_t kUseless = std::uint32_t{1} << 31;
    bool is_empty() const { return what == kEmpty; }
    bool is_useless() const { return (what & kUseless) != 0; }

    std::uint32_t tag = 0;
    std::uint32_t what = kEmpty;  // its place
  };
  static bool tries_again(Slot& slot) {
    constexpr std::uint32_t kFirst = 4;
    const std::uint32_t times = ++slot.what & ~Slot::kUseless;
    return times >= kFirst && std::has_single_bit(times);
  }

  // Of what tells stretches apart, but for their later bytes.
  static std::uint64_t hash_of(const StretchBegin& here) {
    const std::uint64_t key =
        StretchTable::key_of(here.at, here.last_ip, here.returns.top().value_or(0));
    const std::uint64_t hash = (key ^ here.from * 0x9e3779b97f4a7c15u) * kMix;
    return hash ^ hash >> 32;
  }
  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

  std::size_t first_slot(std::uint32_t tag) const { return tag >> shift_; }
  std::size_t behind(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }
  Stretch& at(std::uint32_t place) const { return *static_cast<Stretch*>(room_.at(place)); }
  static void prefetch(const Stretch& stretch) {
    constexpr std::size_t kLine = 64;
    const auto* const from = reinterpret_cast<const std::uint8_t*>(&stretch);
    for (std::size_t i = 0; i < sizeof stretch + 2 * kLine; i += kLine)
      __builtin_prefetch(from + i);
  }
  // Whether to learn what has this hash with all its bytes.
  void ask_of(std::uint64_t hash, Found& out) {
    if (!seen_.came(hash, kTimes)) return;
    out.whole_tag = tag_of(hash);
    std::size_t i = first_slot(out.whole_tag);
    while (!slots_[i].is_empty() && !(slots_[i].tag == out.whole_tag && slots_[i].is_useless())) {
      i = behind(i);
    }
    out.useless = !slots_[i].is_empty();
    out.to_learn = !out.useless || tries_again(slots_[i]);
  }
  void insert(Slot slot) {
    if (2 * (learned_ + useless_ + 1) > slots_.size()) {
      const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
      --shift_;
      for (const Slot& one : old) {
        if (!one.is_empty()) put(one);
      }
    }
    put(slot);
  }
  void put(Slot slot) {
    std::size_t i = first_slot(slot.tag);
    while (!slots_[i].is_empty()) i = behind(i);
    slots_[i] = slot;
  }

  // All lists of one, each with that of the other.
  template <class A, class B, class Visit>
  static void visit_lists(A& a, B& b, Visit visit) {
    visit(a.guards, b.guards);
    visit(a.calls.returned, b.calls.returned);
    visit(a.calls.tails, b.calls.tails);
    visit(a.calls.noted, b.calls.noted);
    if constexpr (kExact) {
      visit(a.units, b.units);
      visit(a.calls.singles, b.calls.singles);
      visit(a.calls.passed, b.calls.passed);
      visit(a.calls.opened, b.calls.opened);
    } else {
      visit(a.calls.paths, b.calls.paths);
      visit(a.calls.open, b.calls.open);
    }
    visit(a.pushed, b.pushed);
  }
  static std::size_t words_of(const Stretch& stretch, const Learned<kExact>& does) {
    std::size_t words = PackedRoom::words(sizeof stretch) + PackedRoom::words(stretch.length);
    visit_lists(does, does, [&words](const auto& list, const auto&) {
      words += PackedRoom::words(std::span(list).size_bytes());
    });
    return words;
  }
  Learned<kExact, Kept> keep(const Learned<kExact>& does) {
    Learned<kExact, Kept> out{.rest = does.rest, .round = does.round, .to = does.to};
    using Numbers = std::conditional_t<kExact, LearnedSpan, LearnedSum>;
    static_cast<Numbers&>(out.calls) = does.calls;
    visit_lists(out, does,
                [this](auto& kept, const auto& list) { kept = room_.put_list(std::span(list)); });
    return out;
  }
  void judge() {
    if (2 * hits_ < looks_) {  // what looks cost is hardly won back
      pause_ = next_pause_;
      next_pause_ = std::min(2 * next_pause_, kMostPause);
    } else {
      next_pause_ = kLeastPause;
    }
    looks_ = hits_ = 0;
    patience_ = kPatience;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(kLeastSlots);  // open addressing, at most half full
  unsigned shift_ = 32 - std::countr_zero(kLeastSlots);
  PackedRoom room_;
  OftenSeen seen_;
  std::size_t learned_ = 0;
  std::size_t useless_ = 0;
  std::size_t taken_ = 0;
  Stretch* last_ = nullptr;  // that was taken
  const std::uint8_t* looked_at_ = nullptr;
  std::uint32_t pause_ = 0;
  std::uint32_t next_pause_ = kLeastPause;
  std::uint32_t patience_ = kLearning;
  std::uint32_t looks_ = 0;
  std::uint32_t hits_ = 0;  // of them
};

}  // namespace hodo::flow
