#include "unit_reader.h"

#include <dwarf.h>

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "dies.h"

namespace hodo::symbol {
namespace {

constexpr std::size_t kMostScopeRanges = 1 << 22;

using Range = std::pair<std::uint64_t, std::uint64_t>;
using Ranges = std::vector<Range>;

class Strings {
 public:
  explicit Strings(std::vector<std::string>& out) : out_(out) {}
  std::uint32_t number(const std::string& text) {
    const auto [it, fresh] = numbers_.try_emplace(text, static_cast<std::uint32_t>(out_.size()));
    if (fresh) out_.push_back(text);
    return it->second;
  }

 private:
  std::vector<std::string>& out_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

// Which scope an address is in; what is painted last holds.
class ScopeMap {
 public:
  ScopeMap() { begins_[0] = UnitLines::kNone; }
  void paint(const Range& range, std::uint32_t scope) {
    const std::uint32_t behind = std::prev(begins_.upper_bound(range.second))->second;
    begins_.erase(begins_.lower_bound(range.first), begins_.lower_bound(range.second));
    begins_[range.first] = scope;
    begins_.try_emplace(range.second, behind);
  }
  const std::map<std::uint64_t, std::uint32_t>& begins() const { return begins_; }

 private:
  std::map<std::uint64_t, std::uint32_t> begins_;
};

// What of `die`'s code lies in that of what it is in.
Ranges ranges_of(Dwarf_Die& die, const Ranges* within) {
  Ranges out;
  Dwarf_Addr base = 0, start = 0, end = 0;
  std::ptrdiff_t at = 0;
  while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0 && out.size() < kMostScopeRanges) {
    if (start >= end) continue;
    if (within == nullptr) out.emplace_back(start, end);
    if (within == nullptr) continue;
    for (const auto& [low, high] : *within) {
      if (start < high && low < end) out.emplace_back(std::max(start, low), std::min(end, high));
    }
  }
  return out;
}

class UnitReader {
 public:
  explicit UnitReader(const Unit& unit)
      : unit_(unit.lines), entries_(unit.entries), strings_(out_.strings) {
    strings_.number("");
  }

  std::optional<UnitLines> read() {
    if (!read_scopes()) return std::nullopt;
    add_lines();
    return std::move(out_);
  }

 private:
  struct Pending {
    Dwarf_Die die;
    const Ranges* within = nullptr;  // null: everything
    std::uint32_t scope = UnitLines::kNone;
    int depth = 0;
  };

  bool read_scopes();
  bool add_children(const Pending& of);
  bool open(Pending& child);
  void add_lines();
  void add_span(std::uint64_t start, std::uint64_t end, std::uint32_t file, std::uint32_t line);
  std::uint32_t path(const char* written);

  Dwarf_Die unit_;
  Dwarf_Die entries_;
  UnitLines out_;
  Strings strings_;
  std::unordered_map<const char*, std::uint32_t> paths_;
  ScopeMap map_;
  std::deque<Ranges> ranges_;
  std::size_t range_count_ = 0;
  std::vector<Pending> pending_;
  int budget_ = kMostDies;
};

// The scopes directly inside, those first that are asked first whether they have an address.
bool UnitReader::add_children(const Pending& of) {
  const std::size_t first = pending_.size();
  std::vector<Dwarf_Die> parents = {of.die};
  while (!parents.empty()) {
    Dwarf_Die parent = parents.back();
    Dwarf_Die child;
    parents.pop_back();
    if (dwarf_child(&parent, &child) != 0) continue;
    do {
      if (--budget_ < 0) return false;
      if (may_hold_functions(child)) {
        parents.push_back(child);
      } else if (holds_code(child)) {
        pending_.push_back({child, of.within, of.scope, of.depth + 1});
      }
    } while (dwarf_siblingof(&child, &child) == 0);
  }
  return pending_.size() == first || of.depth < kDeepestScope;
}

// False: it has no code. That of a function inside another one may lie anywhere.
bool UnitReader::open(Pending& child) {
  const bool nested = dwarf_tag(&child.die) == DW_TAG_subprogram;
  Ranges ranges = ranges_of(child.die, nested ? nullptr : child.within);
  if (ranges.empty()) return false;
  range_count_ += ranges.size();
  child.within = &ranges_.emplace_back(std::move(ranges));
  if (!is_function(child.die)) return true;
  UnitLines::Scope scope{.function = strings_.number(name_of(child.die)), .parent = child.scope};
  scope.inlined = dwarf_tag(&child.die) == DW_TAG_inlined_subroutine;
  if (scope.inlined) {
    const Position call = position_of_call(unit_, child.die);
    scope.file = strings_.number(call.file);
    scope.line = call.line;
  } else {
    scope.parent = UnitLines::kNone;  // nested functions are no calls
  }
  child.scope = static_cast<std::uint32_t>(out_.scopes.size());
  out_.scopes.push_back(scope);
  return true;
}

// Of two that have an address the one that stands first holds, so it is painted last, and what is
// inside of it behind it.
bool UnitReader::read_scopes() {
  if (!add_children({.die = entries_})) return false;
  while (!pending_.empty()) {
    Pending next = pending_.back();
    pending_.pop_back();
    if (!open(next)) continue;
    if (range_count_ > kMostScopeRanges) return false;
    for (const Range& range : *next.within) map_.paint(range, next.scope);
    if (!add_children(next)) return false;
  }
  return true;
}

std::uint32_t UnitReader::path(const char* written) {
  const auto [it, fresh] = paths_.try_emplace(written, 0);
  if (fresh) it->second = strings_.number(absolute(unit_, written));
  return it->second;
}

void UnitReader::add_span(std::uint64_t start, std::uint64_t end, std::uint32_t file,
                          std::uint32_t line) {
  const auto& begins = map_.begins();
  for (auto it = std::prev(begins.upper_bound(start)); start < end; start = it->first) {
    const UnitLines::Span span{.start = start, .scope = it->second, .file = file, .line = line};
    const bool same = !out_.spans.empty() && UnitLines::Span{out_.spans.back().start, span.scope,
                                                             file, line} == out_.spans.back();
    if (!same) out_.spans.push_back(span);
    if (++it == begins.end()) return;
  }
}

// As dwarf_getsrc_die(): the last line that does not begin behind an address, if it does not end
// the sequence.
void UnitReader::add_lines() {
  Dwarf_Lines* lines = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrclines(&unit_, &lines, &count) != 0) count = 0;
  std::uint64_t begin = 0;
  std::uint32_t file = 0;
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Dwarf_Line* const line = dwarf_onesrcline(lines, i);
    Dwarf_Addr address = 0;
    bool ends = false;
    int written = 0;
    if (dwarf_lineaddr(line, &address) != 0 || address < begin) continue;
    if (address > begin) add_span(begin, address, file, number);
    begin = address;
    if (dwarf_lineendsequence(line, &ends) != 0) ends = true;
    file = number = 0;
    if (ends) continue;
    if (dwarf_lineno(line, &written) == 0 && written > 0) {
      number = static_cast<std::uint32_t>(written);
    }
    file = path(dwarf_linesrc(line, nullptr, nullptr));
  }
  add_span(begin, ~std::uint64_t{0}, file, number);
}

}  // namespace

std::optional<UnitLines> read_unit(const Unit& unit) { return UnitReader(unit).read(); }

}  // namespace hodo::symbol
