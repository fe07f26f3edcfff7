#include "neutral.h"

#include <algorithm>
#include <array>

#include "hodo/base/last_component.h"
#include "hodo/base/page.h"
#include "hodo/isa/operands.h"

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

// The kernel's part of a process: it reads the clock again where that was set meanwhile.
constexpr std::string_view kVdso = "[vdso]";

bool is_loader(std::string_view object) {
  return object.starts_with("ld-") || object.starts_with("ld.so");
}

// "memcpy_avx" of "__GI___memcpy_avx"
std::string_view without_prefixes(std::string_view function) {
  function.remove_prefix(std::min(function.find_first_not_of('_'), function.size()));
  if (function.starts_with("GI_")) function.remove_prefix(3);
  function.remove_prefix(std::min(function.find_first_not_of('_'), function.size()));
  return function;
}

// The C library's functions that work on memory and strings and on nothing else; variants of theirs
// begin alike.
constexpr auto kForMemory = std::to_array<std::string_view>(
    {"memcpy",  "memmove",     "mempcpy", "memset",     "memchr",  "memrchr", "memcmp",
     "memccpy", "bcmp",        "bcopy",   "rawmemchr",  "strlen",  "strnlen", "strcpy",
     "strncpy", "strcmp",      "strncmp", "strcasecmp", "strcat",  "strncat", "strchr",
     "strrchr", "strncasecmp", "strspn",  "strcspn",    "strpbrk", "strstr",  "stpcpy",
     "stpncpy", "wcslen",      "wcsnlen", "wcscpy",     "wcscmp",  "wcsncmp", "wcschr",
     "wcsrchr", "wmemchr",     "wmemcmp", "wmemset"});

bool begins_with_any(std::string_view text, std::span<const std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return text.starts_with(name); });
}

// Others of the C library and its library for mathematics that compilers and headers do in place,
// do as another one does, or call once for several times: they depend on their arguments alone.
constexpr auto kPlain = std::to_array<std::string_view>({"ctype_b_loc",
                                                         "ctype_tolower_loc",
                                                         "ctype_toupper_loc",
                                                         "errno_location",
                                                         "tolower",
                                                         "toupper",
                                                         "abs",
                                                         "labs",
                                                         "llabs",
                                                         "atoi",
                                                         "atol",
                                                         "atoll",
                                                         "strtol",
                                                         "strtoll",
                                                         "isoc23_strtol",
                                                         "isoc23_strtoll",
                                                         "sqrt",
                                                         "sqrtf",
                                                         "floor",
                                                         "floorf",
                                                         "ceil",
                                                         "ceilf",
                                                         "trunc",
                                                         "truncf",
                                                         "rint",
                                                         "rintf",
                                                         "round",
                                                         "roundf",
                                                         "fabs",
                                                         "fabsf",
                                                         "lrint",
                                                         "lround"});

// Of a stub, "memset@plt": also what is called so with _FORTIFY_SOURCE.
bool leads_to_plain_function(std::string_view stub) {
  constexpr std::string_view kChecked = "_chk";
  std::string_view function = without_prefixes(stub.substr(0, stub.find('@')));
  if (function.ends_with(kChecked)) function.remove_suffix(kChecked.size());
  return std::ranges::find(kForMemory, function) != kForMemory.end() ||
         std::ranges::find(kPlain, function) != kPlain.end();
}

}  // namespace

bool is_c_library(std::string_view object) {
  return object.starts_with("libc.") || object.starts_with("libc-") || is_loader(object);
}

bool depends_on_addresses(std::string_view object, std::string_view function) {
  // The loader's: objects by where they were mapped.
  constexpr auto kLoaders = std::to_array<std::string_view>(
      {"dlfo_sort_mappings", "dlfo_lookup", "dl_find_object", "dl-find_object"});
  if (object == kVdso) return true;
  if (!is_c_library(object)) return false;
  function = without_prefixes(function);
  return begins_with_any(function, kForMemory) || begins_with_any(function, kLoaders);
}

bool looks_at_addresses(std::span<const std::uint8_t> code, std::uint64_t ip, isa::Mode mode) {
  // From the lines of the smallest vectors to pages.
  constexpr unsigned kLeast = 4;
  bool looks = false;
  while (!code.empty()) {
    const auto insn = isa::decode_operands(code, ip, mode);
    if (!insn || insn->insn.cls == isa::InsnClass::call ||
        insn->insn.cls == isa::InsnClass::icall) {
      return false;
    }
    looks = looks || (insn->low_bits && *insn->low_bits >= kLeast && *insn->low_bits <= kPageBits);
    code = code.subspan(insn->insn.length);
    ip += insn->insn.length;
  }
  return looks;
}

const Neutral::Page& Neutral::page(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  const PlaceKey key{space, names_.naming(space, time), address >> kPageBits};
  if (auto it = pages_.find(key); it != pages_.end()) return it->second;
  if (pages_.size() == kMostPages) pages_.clear();
  Page& out = pages_[key];
  const session::Object object = names_.object(space, address, time);
  std::string name(last_component(object.path));
  if (renamed_ != nullptr) {
    if (const auto other = renamed_->find(name); other != renamed_->end()) name = other->second;
  }
  const bool in_file = object.table != nullptr || (!name.empty() && name != "[anon]");
  // Anonymous memory has names like "//anon" and "[heap]", and lies anywhere.
  if (!in_file || name == "anon" || name == "[heap]" || name == "[stack]") return out;
  const auto rebuilt = rebuilt_.find(name);
  out = {hash(name), address - object.offset,
         rebuilt == rebuilt_.end() ? nullptr : &rebuilt->second,
         is_c_library(name) || name == kVdso, is_loader(name)};
  return out;
}

bool Neutral::goes_by_address(std::uint32_t space, const session::Place& place, std::uint64_t begin,
                              std::uint64_t time) const {
  constexpr std::size_t kLongestText = 4096;  // those of the C library have up to 2600
  const auto object = last_component(place.object);
  if (depends_on_addresses(object, place.symbol)) return true;
  if (code_ == nullptr || !place.synthetic || !is_c_library(object)) return false;
  if (place.size == 0 || place.size > kLongestText) return false;
  std::array<std::uint8_t, kLongestText> bytes{};
  const auto text = std::span(bytes).first(static_cast<std::size_t>(place.size));
  return code_->read_code(space, begin, time, text) == text.size() &&
         looks_at_addresses(text, begin, code_->mode(space, time));
}

const Neutral::Function& Neutral::function(std::uint32_t space, std::uint64_t address,
                                           std::uint64_t time) {
  const PlaceKey key{space, names_.generation(space, time), address};
  if (auto it = functions_.find(key); it != functions_.end()) return it->second;
  if (functions_.size() == kMostPages) functions_.clear();
  const session::Place place = names_.place(space, address, time);
  const std::string name = base_name(place.symbol);
  const Rebuilt* const rebuilt = page(space, address, time).rebuilt;
  return functions_[key] = {
             .name = hash(name),
             .offset = place.offset,
             .by_address = goes_by_address(space, place, address - place.offset, time),
             .stub = rebuilt != nullptr && place.stub,
             .plain = place.stub ? leads_to_plain_function(place.symbol)
                                 : is_c_library(last_component(place.object)) &&
                                       begins_with_any(without_prefixes(place.symbol), kForMemory),
             .alike = rebuilt != nullptr && rebuilt->alike.contains(name),
             .single = rebuilt != nullptr && rebuilt->single.contains(name)};
}

std::uint64_t Neutral::side(std::uint32_t space, std::uint64_t address, std::uint64_t time,
                            bool target) {
  if (address == 0) return 0;
  const Page at = page(space, address, time);
  if (at.object == 0) return 1;
  if (at.rebuilt != nullptr) {
    const Function& in = function(space, address, time);
    if (in.alike) return mix(mix(at.object, in.name), in.offset);
    // Where another function begins is its name; what is within may be another's in the other
    // build.
    return target && in.offset == 0 && !in.single ? mix(at.object, in.name) : at.object;
  }
  // Their returns, too, lie in different places, even in different ones of them.
  if (at.c_library && function(space, address, time).by_address) return at.object;
  return mix(at.object, address - at.delta);
}

// Of a file that was built anew: what the other build need not do.
bool Neutral::within_rebuilt(std::uint32_t space, const Branch& branch) {
  const Function from = function(space, branch.from, branch.time);
  const Function to = function(space, branch.to, branch.time);
  // To call a function that the other build has inlined.
  if (calls_or_returns(branch.kind) || from.name != to.name) {
    return branch.kind == BranchKind::ret ? from.single : to.single;
  }
  // Which way a function goes within itself is the compiler's; a tail call is none of that.
  return !from.alike;
}

// Of files that were built anew the loader has other headers to read, symbols to find and places to
// relocate.
bool Neutral::within_loader(std::uint32_t space, const Branch& branch) {
  const auto loader_or_none = [&](std::uint64_t address) {
    return address == 0 || in_loader(space, address, branch.time);
  };
  if (!loader_or_none(branch.from) || !loader_or_none(branch.to)) return false;
  return branch.from != 0 ? branch.to != 0 || branch.kind == BranchKind::syscall : branch.to != 0;
}

bool Neutral::of_no_account(std::uint32_t space, const Branch& branch) {
  if (!rebuilt_.empty() && within_loader(space, branch)) return true;
  if (branch.from == 0 || branch.to == 0) return false;
  // A copy: the next question may throw it away.
  const Page from = page(space, branch.from, branch.time);
  const Page to = page(space, branch.to, branch.time);
  if (from.rebuilt != nullptr && from.object == to.object) return within_rebuilt(space, branch);
  // What a stub leads to has its name: the call of the stub counts.
  if (from.rebuilt != nullptr && function(space, branch.from, branch.time).stub) return true;
  return !calls_or_returns(branch.kind) && from.c_library && to.c_library &&
         function(space, branch.from, branch.time).by_address &&
         function(space, branch.to, branch.time).by_address;
}

bool Neutral::calls_as_compilers_do(std::uint32_t space, const Branch& branch) {
  if (branch.from == 0 || branch.to == 0 || branch.kind == BranchKind::ret) return false;
  if (!in_rebuilt_code(space, branch)) return false;
  return function(space, branch.to, branch.time).plain &&
         !function(space, branch.from, branch.time).alike;
}

bool Neutral::in_rebuilt_code(std::uint32_t space, const Branch& branch) {
  return branch.from != 0 && page(space, branch.from, branch.time).rebuilt != nullptr &&
         !function(space, branch.from, branch.time).stub;
}

bool Neutral::returns_alike(std::uint32_t space, const Branch& branch) {
  return branch.kind == BranchKind::ret && branch.from != 0 &&
         function(space, branch.from, branch.time).alike;
}

bool Neutral::within_one_build(std::uint32_t space, const Branch& branch) {
  if (branch.from == 0 || branch.to == 0) return false;
  const Page from = page(space, branch.from, branch.time);
  return from.rebuilt == nullptr && from.object == page(space, branch.to, branch.time).object;
}

// What a rebuilt file calls may be called by a jump (a tail call), or through a pointer.
BranchKind Neutral::kind(std::uint32_t space, const Branch& branch) {
  const bool goes = branch.kind == BranchKind::call || branch.kind == BranchKind::icall ||
                    !calls_or_returns(branch.kind);
  if (!goes || page(space, branch.from, branch.time).rebuilt == nullptr) return branch.kind;
  const bool within = file(space, branch.from, branch.time) == file(space, branch.to, branch.time);
  const std::uint64_t from = function(space, branch.from, branch.time).name;
  return within && from == function(space, branch.to, branch.time).name ? branch.kind
                                                                        : BranchKind::call;
}

Neutral::Known& Neutral::known(std::uint32_t space, const Branch& branch) {
  const std::uint64_t h = mix(branch.from, branch.to);
  Known& out = known_[h % kKnown];
  const bool same = out.space == space && out.branch.from == branch.from && out.branch.from != 0 &&
                    out.branch.to == branch.to && out.branch.kind == branch.kind;
  if (same && out.branch.time == branch.time) return out;
  const bool holds =
      same && names_.generation(space, out.branch.time) == names_.generation(space, branch.time);
  if (!holds) out.token = find_token(space, branch);
  out.space = space;
  out.branch = branch;
  return out;
}

std::optional<std::uint64_t> Neutral::token(std::uint32_t space, const Branch& branch) {
  return branch.from == 0 ? find_token(space, branch) : known(space, branch).token;
}

std::optional<std::uint64_t> Neutral::find_token(std::uint32_t space, const Branch& branch) {
  if (of_no_account(space, branch)) return std::nullopt;
  const std::uint64_t from = side(space, branch.from, branch.time, false);
  // What calls it by a jump in one build is not returned to.
  const std::uint64_t to =
      returns_alike(space, branch) ? 0 : side(space, branch.to, branch.time, true);
  return mix(mix(from, to), static_cast<std::uint64_t>(kind(space, branch)));
}

}  // namespace hodo::ask
