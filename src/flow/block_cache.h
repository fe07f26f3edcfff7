// Code, decoded once: straight-line runs of instructions, found again by the content they lie in.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hodo/image/code.h"
#include "hodo/isa/insn.h"

namespace hodo::flow {

// A run of instructions of which only the last can do something else than fall through. `cls` is
// that of the last instruction; InsnClass::other if the run was cut off (end of mapping, length
// limit).
struct Block {
  std::uint32_t size = 0;  // bytes of the run
  std::uint16_t insns = 0;
  std::uint8_t last_size = 0;  // bytes of its last instruction
  isa::Mode mode = isa::Mode::bits64;
  isa::InsnClass cls = isa::InsnClass::other;
  std::int32_t displacement = 0;  // of a direct branch: from the end of the run to the target
};

// Addresses have 32 bits outside 64-bit mode (the linear address of 16-bit code as well).
constexpr std::uint64_t wrap(std::uint64_t address, isa::Mode mode) {
  return mode == isa::Mode::bits64 ? address : address & 0xffffffffu;
}
constexpr std::uint64_t last_ip(std::uint64_t start, const Block& block) {
  return wrap(start + (block.size - block.last_size), block.mode);
}
constexpr std::uint64_t end_ip(std::uint64_t start, const Block& block) {
  return wrap(start + block.size, block.mode);
}
constexpr std::uint64_t target_ip(std::uint64_t start, const Block& block) {
  return wrap(start + block.size + static_cast<std::uint64_t>(std::int64_t{block.displacement}),
              block.mode);
}

// The run at the start of `bytes`, which lie at `ip`; nullopt if the first instruction is none or
// is cut off by the end of `bytes`.
std::optional<Block> decode_block(std::span<const std::uint8_t> bytes, std::uint64_t ip,
                                  isa::Mode mode);

// Blocks by the content they lie in: what survives another mapping of the same file.
class BlockTable {
 public:
  BlockTable() { clear(); }

  // Null: not known. Valid until the next add().
  const Block* find(std::uint64_t content, std::uint64_t offset, isa::Mode mode) const {
    for (std::size_t at = slot(content, offset);; at = (at + 1) & (table_.size() - 1)) {
      const Entry& entry = table_[at];
      if (entry.block.size == 0) return nullptr;
      if (entry.content == content && entry.offset == offset && entry.block.mode == mode) {
        return &entry.block;
      }
    }
  }
  // Must not be known. A trace over hostile code could have blocks at every offset: when there are
  // very many, they are forgotten.
  void add(std::uint64_t content, std::uint64_t offset, const Block& block);

 private:
  struct Entry {
    std::uint64_t content = 0;
    std::uint64_t offset = 0;
    Block block;  // of size 0: free
  };
  static constexpr std::size_t kLeastSize = 1 << 10;
  static constexpr std::size_t kMost = 1 << 20;

  std::size_t slot(std::uint64_t content, std::uint64_t offset) const {
    const std::uint64_t hash = (content * 0x9e3779b97f4a7c15u ^ offset) * 0xd6e8feb86659fd93u;
    return static_cast<std::size_t>(hash >> shift_);
  }
  void clear();
  void grow();
  void insert(const Entry& entry);

  std::vector<Entry> table_;  // open addressing, at most three quarters full
  unsigned shift_ = 0;        // 64 - log2 of its size
  std::size_t count_ = 0;
};

class BlockCache {
 public:
  enum class Missing : std::uint8_t {
    nothing,
    code,
    sense
  };  // sense: bytes that are no instruction

  // `code` must outlive the cache.
  explicit BlockCache(const image::CodeSource& code);

  // The block at `ip` as it was at `time`, or null: missing() then says what there is not. Valid
  // until the next call.
  const Block* at(std::uint64_t ip, isa::Mode mode, std::uint64_t time) {
    const Entry& entry = front_[slot(ip)];
    if (entry.ip == ip && entry.block.mode == mode && entry.block.size != 0 &&
        entry.valid_from <= time && time < entry.valid_until) {
      return seen(entry);
    }
    return find(ip, mode, time);
  }
  // When all blocks given since watch() were as they are: in [from, until).
  struct Validity {
    std::uint64_t from = 0;
    std::uint64_t until = ~std::uint64_t{0};
    bool operator==(const Validity&) const = default;
  };
  void watch() { validity_ = {}; }
  const Validity& validity() const { return validity_; }
  Missing missing() const { return missing_; }
  // Bytes of the one instruction at `ip`, which must lie in a block: for cold paths.
  std::uint8_t insn_size(std::uint64_t ip, isa::Mode mode, std::uint64_t time) const;

 private:
  // By address: what a loop finds. Answers hold for the span of time that the code source gave.
  struct Entry {
    std::uint64_t ip = 0;
    std::uint64_t valid_from = 0;
    std::uint64_t valid_until = 0;
    Block block;
  };
  static constexpr std::size_t kMaxInsnSize = 15;
  using Bytes = std::array<std::uint8_t, kMaxInsnSize>;
  static constexpr std::size_t kFrontSize = 1 << 12;

  static std::size_t slot(std::uint64_t ip) { return (ip ^ (ip >> 12)) & (kFrontSize - 1); }
  const Block* seen(const Entry& entry) {
    validity_.from = std::max(validity_.from, entry.valid_from);
    validity_.until = std::min(validity_.until, entry.valid_until);
    return &entry.block;
  }
  const Block* find(std::uint64_t ip, isa::Mode mode, std::uint64_t time);
  std::optional<Block> find_in(const image::CodeSpan& span, std::uint64_t ip, isa::Mode mode);
  std::optional<isa::Insn> decode_across(std::uint64_t ip, isa::Mode mode, std::uint64_t time,
                                         Entry& entry, Bytes& bytes) const;

  const image::CodeSource& code_;
  std::vector<Entry> front_ = std::vector<Entry>(kFrontSize);
  BlockTable blocks_;
  Missing missing_ = Missing::nothing;
  Validity validity_;
};

}  // namespace hodo::flow
