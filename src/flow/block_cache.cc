#include "block_cache.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace hodo::flow {
namespace {

using isa::InsnClass;

constexpr std::uint16_t kMaxInsns = 256;  // keeps what is decoded for one visit in proportion

// XBEGIN and XABORT fall through as far as the code tells; an abort shows as an asynchronous
// branch.
constexpr bool ends_block(InsnClass cls) {
  return cls != InsnClass::other && cls != InsnClass::xbegin && cls != InsnClass::xabort;
}

bool maps(const image::CodeSpan& span, std::uint64_t ip) {
  return span.content != 0 && ip >= span.address && ip - span.address < span.bytes.size();
}

}  // namespace

std::optional<Block> decode_block(std::span<const std::uint8_t> bytes, std::uint64_t ip,
                                  isa::Mode mode) {
  Block block{.mode = mode};
  while (block.insns < kMaxInsns) {
    const auto insn = isa::decode(bytes.subspan(block.size), wrap(ip + block.size, mode), mode);
    if (!insn) break;
    block.size += insn->length;
    block.insns += 1;
    block.last_size = insn->length;
    if (!ends_block(insn->cls)) continue;
    block.cls = insn->cls;
    // Displacements have at most 32 bits, so that the low half of the difference is all of it.
    if (isa::has_direct_target(insn->cls)) {
      block.displacement = static_cast<std::int32_t>(insn->target - (ip + block.size));
    }
    return block;
  }
  if (block.insns == 0) return std::nullopt;
  return block;
}

void BlockTable::clear() {
  table_.assign(kLeastSize, {});
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(kLeastSize));
  count_ = 0;
}

void BlockTable::add(std::uint64_t content, std::uint64_t offset, const Block& block) {
  if (count_ == kMost) clear();
  if (4 * ++count_ > 3 * table_.size()) grow();
  insert({content, offset, block});
}

void BlockTable::insert(const Entry& entry) {
  std::size_t at = slot(entry.content, entry.offset);
  while (table_[at].block.size != 0) at = (at + 1) & (table_.size() - 1);
  table_[at] = entry;
}

void BlockTable::grow() {
  const std::vector<Entry> old = std::exchange(table_, std::vector<Entry>(2 * table_.size()));
  --shift_;
  for (const Entry& entry : old) {
    if (entry.block.size != 0) insert(entry);
  }
}

BlockCache::BlockCache(const image::CodeSource& code) : code_(code) {}

const Block* BlockCache::find(std::uint64_t ip, isa::Mode mode, std::uint64_t time) {
  const image::CodeSpan span = code_.find(ip, time);
  const bool mapped = maps(span, ip);
  missing_ = mapped ? Missing::sense : Missing::code;
  if (!mapped) return nullptr;
  Entry entry{.ip = ip, .valid_from = span.valid_from, .valid_until = span.valid_until};
  auto block = find_in(span, ip, mode);
  if (!block && span.bytes.size() - (ip - span.address) < kMaxInsnSize) {
    Bytes bytes;
    const auto insn = decode_across(ip, mode, time, entry, bytes);
    // What follows the instruction may lie in a mapping with another life time: a block of one.
    if (insn) block = decode_block(std::span(bytes).first(insn->length), ip, mode);
  }
  if (!block) return nullptr;
  entry.block = *block;
  Entry& home = front_[slot(ip)];
  home = entry;
  missing_ = Missing::nothing;
  return seen(home);
}

std::optional<Block> BlockCache::find_in(const image::CodeSpan& span, std::uint64_t ip,
                                         isa::Mode mode) {
  const auto skip = static_cast<std::size_t>(ip - span.address);
  const std::uint64_t offset = span.offset + skip;
  if (const Block* known = blocks_.find(span.content, offset, mode)) return *known;
  const auto block = decode_block(span.bytes.subspan(skip), ip, mode);
  if (block) blocks_.add(span.content, offset, *block);
  return block;
}

// The instruction at `ip`, put together in `bytes` from the mappings that it lies in. It belongs to
// no single content and is only kept by address.
std::optional<isa::Insn> BlockCache::decode_across(std::uint64_t ip, isa::Mode mode,
                                                   std::uint64_t time, Entry& entry,
                                                   Bytes& bytes) const {
  std::size_t size = 0;
  while (size < bytes.size()) {
    const std::uint64_t at = wrap(ip + size, mode);
    const image::CodeSpan span = code_.find(at, time);
    if (!maps(span, at)) break;
    const auto rest = span.bytes.subspan(static_cast<std::size_t>(at - span.address));
    const std::size_t taken = std::min(rest.size(), bytes.size() - size);
    std::ranges::copy(rest.first(taken), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    size += taken;
    entry.valid_from = std::max(entry.valid_from, span.valid_from);
    entry.valid_until = std::min(entry.valid_until, span.valid_until);
  }
  return isa::decode(std::span(bytes).first(size), ip, mode);
}

std::uint8_t BlockCache::insn_size(std::uint64_t ip, isa::Mode mode, std::uint64_t time) const {
  Entry entry;
  Bytes bytes;
  const auto insn = decode_across(ip, mode, time, entry, bytes);
  return insn ? insn->length : 0;
}

}  // namespace hodo::flow
