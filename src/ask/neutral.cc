#include "neutral.h"

#include <algorithm>
#include <array>

#include "hodo/base/last_component.h"
#include "hodo/base/page.h"

namespace hodo::ask {
namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t h = (a ^ b * 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
  return h ^ h >> 31;
}

std::uint64_t hash(const std::string& text) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (const char c : text) h = (h ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  return h | 1;
}

bool calls_or_returns(BranchKind kind) {
  return kind != BranchKind::cond && kind != BranchKind::jmp && kind != BranchKind::ijmp;
}

bool is_c_library(std::string_view object) {
  return object.starts_with("libc.") || object.starts_with("libc-") || object.starts_with("ld-") ||
         object.starts_with("ld.so");
}

}  // namespace

bool depends_on_addresses(std::string_view object, std::string_view function) {
  constexpr std::array<std::string_view, 30> kNames{
      "memcpy",  "memmove", "mempcpy", "memset",  "memchr",      "memrchr",
      "memcmp",  "memccpy", "bcmp",    "bcopy",   "rawmemchr",   "strlen",
      "strnlen", "strcpy",  "strncpy", "strcmp",  "strncmp",     "strcasecmp",
      "strcat",  "strncat", "strchr",  "strrchr", "strncasecmp", "strspn",
      "strcspn", "strpbrk", "strstr",  "stpcpy",  "stpncpy",     "wcslen"};
  if (!is_c_library(object)) return false;
  function.remove_prefix(std::min(function.find_first_not_of('_'), function.size()));
  if (function.starts_with("GI_")) function.remove_prefix(3);
  function.remove_prefix(std::min(function.find_first_not_of('_'), function.size()));
  return std::ranges::any_of(kNames,
                             [&](std::string_view name) { return function.starts_with(name); });
}

std::size_t Neutral::Hash::operator()(const Key& key) const {
  return static_cast<std::size_t>(mix(key.page, std::uint64_t{key.space} << 32 | key.generation));
}

const Neutral::Page& Neutral::page(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  const Key key{space, names_.generation(space, time), address >> kPageBits};
  if (auto it = pages_.find(key); it != pages_.end()) return it->second;
  if (pages_.size() == kMostPages) pages_.clear();
  Page& out = pages_[key];
  const session::Object object = names_.object(space, address, time);
  const std::string name(last_component(object.path));
  const bool in_file = object.table != nullptr || (!name.empty() && name != "[anon]");
  // Anonymous memory has names like "//anon" and "[heap]", and lies anywhere.
  if (!in_file || name == "anon" || name == "[heap]" || name == "[stack]") return out;
  out = {hash(name), address - object.offset, rebuilt_.contains(name), is_c_library(name)};
  return out;
}

const Neutral::Function& Neutral::function(std::uint32_t space, std::uint64_t address,
                                           std::uint64_t time) {
  const Key key{space, names_.generation(space, time), address};
  if (auto it = functions_.find(key); it != functions_.end()) return it->second;
  if (functions_.size() == kMostPages) functions_.clear();
  const session::Place place = names_.place(space, address, time);
  return functions_[key] = {hash(place.symbol),
                            depends_on_addresses(last_component(place.object), place.symbol)};
}

std::uint64_t Neutral::side(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  if (address == 0) return 0;
  const Page& at = page(space, address, time);
  if (at.object == 0) return 1;
  const std::uint64_t object = at.object;
  const std::uint64_t offset = address - at.delta;
  if (at.rebuilt) return mix(object, function(space, address, time).name);
  // Their returns, too, lie in different places, even in different ones of them.
  if (at.c_library && function(space, address, time).by_address) return object;
  return mix(object, offset);
}

bool Neutral::of_no_account(std::uint32_t space, const Branch& branch) {
  if (calls_or_returns(branch.kind) || branch.from == 0 || branch.to == 0) return false;
  // A copy: the next question may throw it away.
  const Page from = page(space, branch.from, branch.time);
  const Page to = page(space, branch.to, branch.time);
  if (from.c_library && to.c_library) {
    return function(space, branch.from, branch.time).by_address &&
           function(space, branch.to, branch.time).by_address;
  }
  if (!from.rebuilt || !to.rebuilt) return false;
  // Which way a function goes within itself is the compiler's; a tail call is none of that.
  const std::uint64_t name = function(space, branch.from, branch.time).name;
  return name == function(space, branch.to, branch.time).name;
}

std::optional<std::uint64_t> Neutral::token(std::uint32_t space, const Branch& branch) {
  if (of_no_account(space, branch)) return std::nullopt;
  const std::uint64_t from = side(space, branch.from, branch.time);
  const std::uint64_t to = side(space, branch.to, branch.time);
  return mix(mix(from, to), static_cast<std::uint64_t>(branch.kind));
}

}  // namespace hodo::ask
