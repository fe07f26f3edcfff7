#include "neutral.h"

#include <functional>

namespace hodo::ask {
namespace {

constexpr unsigned kPageBits = 12;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t h = (a ^ b * 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
  return h ^ h >> 31;
}

std::uint64_t hash(const std::string& text) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (const char c : text) h = (h ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  return h | 1;
}

std::string last_component(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool calls_or_returns(BranchKind kind) {
  return kind != BranchKind::cond && kind != BranchKind::jmp && kind != BranchKind::ijmp;
}

}  // namespace

std::size_t Neutral::Hash::operator()(const Key& key) const {
  return static_cast<std::size_t>(mix(key.page, std::uint64_t{key.space} << 32 | key.generation));
}

const Neutral::Page& Neutral::page(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  const Key key{space, names_.generation(space, time), address >> kPageBits};
  if (auto it = pages_.find(key); it != pages_.end()) return it->second;
  if (pages_.size() == kMostPages) pages_.clear();
  Page& out = pages_[key];
  const session::Object object = names_.object(space, address, time);
  const std::string name = last_component(object.path);
  const bool in_file = object.table != nullptr || (!name.empty() && name != "[anon]");
  // Anonymous memory has names like "//anon" and "[heap]", and lies anywhere.
  if (!in_file || name == "anon" || name == "[heap]" || name == "[stack]") return out;
  out = {hash(name), address - object.offset, rebuilt_.contains(name)};
  return out;
}

std::uint64_t Neutral::function(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  const Key key{space, names_.generation(space, time), address};
  if (auto it = functions_.find(key); it != functions_.end()) return it->second;
  if (functions_.size() == kMostPages) functions_.clear();
  return functions_[key] = hash(names_.place(space, address, time).symbol);
}

std::uint64_t Neutral::side(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  if (address == 0) return 0;
  const Page& at = page(space, address, time);
  if (at.object == 0) return 1;
  if (at.rebuilt) return mix(at.object, function(space, address, time));
  return mix(at.object, address - at.delta);
}

std::optional<std::uint64_t> Neutral::token(std::uint32_t space, const Branch& branch) {
  const auto inside = [&](std::uint64_t address) {
    return address != 0 && page(space, address, branch.time).rebuilt;
  };
  if (!rebuilt_.empty() && !calls_or_returns(branch.kind) && inside(branch.from) &&
      inside(branch.to)) {
    // Which way a function goes within itself is the compiler's; a tail call is none of that.
    if (function(space, branch.from, branch.time) == function(space, branch.to, branch.time)) {
      return std::nullopt;
    }
  }
  const std::uint64_t from = side(space, branch.from, branch.time);
  const std::uint64_t to = side(space, branch.to, branch.time);
  return mix(mix(from, to), static_cast<std::uint64_t>(branch.kind));
}

}  // namespace hodo::ask
