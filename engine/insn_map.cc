#include "insn_map.h"

#include <cstring>

#include "arena.h"
#include "sys.h"

namespace hodo::engine {
namespace {

// An entry is one byte, up to kNear, where it lies so far behind the one before in the cache as in
// the program, as copies do, and no outcome more is owed. Others are two: kWider and how far in the
// cache (kFar or more: kWider + kFar and two bytes with that follow), and in the low half of the
// second how far in the program (0: four bytes with that follow), in the high half how many
// outcomes more are owed.
constexpr unsigned kNear = 15;
constexpr unsigned kWider = kNear + 1;
constexpr unsigned kFar = 255 - kWider;

class Reader {
 public:
  Reader(const FragmentPlace& fragment, const std::uint8_t* base, const std::uint8_t* map)
      : at(base + fragment.begin), ip(fragment.ip()), map_(map + fragment.map) {}

  void next() {
    const std::uint8_t first = *map_++;
    if (first <= kNear) {
      at += first;
      ip += first;
      return;
    }
    const std::uint8_t program = *map_++;
    auto far = static_cast<std::uint16_t>(first - kWider);
    if (far == kFar) far = take<std::uint16_t>();
    at += far;
    ip += (program & kNear) != 0 ? program & kNear
                                 : static_cast<std::uint64_t>(std::int64_t{take<std::int32_t>()});
    zeros += program >> 4;
  }

  const std::uint8_t* at;
  std::uint64_t ip;
  unsigned zeros = 0;

 private:
  template <class T>
  T take() {
    T value;
    std::memcpy(&value, map_, sizeof value);
    map_ += sizeof value;
    return value;
  }
  const std::uint8_t* map_;
};

// How many of the arena's fragments begin at this address or before it.
std::uint32_t fragments_to(const Arena& arena, std::uint64_t address) {
  const std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(arena.base);
  std::uint32_t low = 0, high = arena.fragment_count;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (arena.fragments[middle].begin <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

void InsnMapWriter::begin(Arena& arena, std::uint64_t ip, const std::uint8_t* at) {
  arena_ = &arena;
  ip_ = ip;
  at_ = at;
  zeros_ = 0;
  FragmentPlace& place = arena.fragments[arena.fragment_count];
  place = {.ip_low = static_cast<std::uint32_t>(ip),
           .ip_high = static_cast<std::uint32_t>(ip >> 32),
           .begin = static_cast<std::uint32_t>(at - arena.base),
           .map = arena.map_used,
           .bytes = 0,
           .entries = 0};
}

// Behind what is written to `to`.
static std::uint8_t* add_wider(std::uint8_t* to, std::uint16_t far, std::uint64_t on,
                               unsigned zeros) {
  const bool near = on >= 1 && on <= kNear;
  *to++ = static_cast<std::uint8_t>(kWider + (far < kFar ? far : kFar));
  *to++ = static_cast<std::uint8_t>((near ? on : 0) | zeros << 4);
  if (far >= kFar) {
    std::memcpy(to, &far, 2);
    to += 2;
  }
  if (!near) {
    const auto wide = static_cast<std::int32_t>(on);
    std::memcpy(to, &wide, 4);
    to += 4;
  }
  return to;
}

void InsnMapWriter::add(std::uint64_t ip, const std::uint8_t* at, unsigned zeros) {
  FragmentPlace& place = arena_->fragments[arena_->fragment_count];
  if (at == at_ && place.entries == 0) return;  // the head says it
  std::uint8_t* to = arena_->map + arena_->map_used;
  const auto far = static_cast<std::uint16_t>(at - at_);
  const std::uint64_t on = ip - ip_;
  const bool near = on >= 1 && on <= kNear;
  if (near && on == far && zeros == zeros_) {
    *to++ = static_cast<std::uint8_t>(on);
  } else {
    to = add_wider(to, far, on, zeros - zeros_);
  }
  arena_->map_used = static_cast<std::uint32_t>(to - arena_->map);
  ++place.entries;
  ip_ = ip;
  at_ = at;
  zeros_ = zeros;
}

void InsnMapWriter::end(const std::uint8_t* at) {
  FragmentPlace& place = arena_->fragments[arena_->fragment_count++];
  place.bytes = static_cast<std::uint16_t>(at - (arena_->base + place.begin));
}

bool find_insn(std::uint64_t cache_address, InsnPlace& place) {
  const Arena* arena = arena_of(cache_address);
  if (arena == nullptr) return false;
  const auto* address = reinterpret_cast<const std::uint8_t*>(cache_address);
  const std::uint32_t behind = fragments_to(*arena, cache_address);
  if (behind == 0) return false;
  const FragmentPlace& fragment = arena->fragments[behind - 1];
  if (address >= arena->base + fragment.begin + fragment.bytes) return false;
  Reader reader(fragment, arena->base, arena->map);
  const std::uint8_t* head = reader.at;
  place = {reader.ip, 0, reader.at == address, head, true, reader.ip};
  for (std::uint32_t i = 0; i < fragment.entries; ++i) {
    const std::uint8_t* const before = reader.at;
    reader.next();
    if (reader.at > address) break;
    const std::uint64_t first = reader.at == before ? place.first_ip : reader.ip;
    place = {reader.ip, reader.zeros, reader.at == address, head, false, first};
  }
  return true;
}

std::uint64_t last_fragment(std::uint64_t cache_address) {
  const Arena* arena = arena_of(cache_address);
  if (arena == nullptr) return 0;
  const std::uint32_t behind = fragments_to(*arena, cache_address);
  return behind == 0 ? 0 : arena->fragments[behind - 1].ip();
}

bool in_cache(std::uint64_t address) { return arena_of(address) != nullptr; }

}  // namespace hodo::engine
