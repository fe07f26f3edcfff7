#include "inlined_calls.h"

#include <dwarf.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "dies.h"
#include "hodo/base/join_ranges.h"
#include "hodo/base/numbers.h"

namespace hodo::symbol {
namespace {

constexpr std::size_t kMostRangesInAll = std::size_t{1} << 22;
constexpr std::size_t kMostRowsOfOne = 64;  // address, of line tables that lie
constexpr std::uint64_t kInlinedVersion = 4;

std::uint64_t begin_of(const InlinedCall& call) {
  return call.entries.empty() ? call.ranges.front().begin : call.entries.front();
}

bool is_inside(const InlinedCall& call, std::uint64_t vaddr) {
  return std::ranges::any_of(call.ranges, [vaddr](const InlinedCall::Range& range) {
    return vaddr >= range.begin && vaddr < range.end;
  });
}

// What the code of a row of the line table was made of.
struct Written {
  std::string_view file;
  int line = 0;
  int column = 0;
  bool operator==(const Written&) const = default;
};

// Of the last row that begins just there, which is what the instruction is of.
std::optional<Written> written_at(Dwarf_Die& unit, std::uint64_t vaddr) {
  Dwarf_Line* const row = dwarf_getsrc_die(&unit, vaddr);
  Dwarf_Addr begin = 0;
  if (row == nullptr || dwarf_lineaddr(row, &begin) != 0 || begin != vaddr) return std::nullopt;
  const char* const file = dwarf_linesrc(row, nullptr, nullptr);
  Written out;
  if (file == nullptr || dwarf_lineno(row, &out.line) != 0) return std::nullopt;
  if (dwarf_linecol(row, &out.column) != 0) return std::nullopt;
  out.file = file;
  return out;
}

// The rows of a unit's line table, by address.
class Rows {
 public:
  explicit Rows(Dwarf_Die& unit) {
    if (dwarf_getsrclines(&unit, &rows_, &count_) != 0) count_ = 0;
  }
  std::size_t size() const { return count_; }
  Dwarf_Line* operator[](std::size_t i) const { return dwarf_onesrcline(rows_, i); }
  std::uint64_t address(std::size_t i) const {
    Dwarf_Addr out = 0;
    return dwarf_lineaddr((*this)[i], &out) == 0 ? out : 0;
  }
  // The first that does not begin before an address.
  std::size_t from(std::uint64_t vaddr) const {
    const auto all = std::views::iota(std::size_t{0}, count_);
    return *std::ranges::lower_bound(all, vaddr, {}, [this](std::size_t i) { return address(i); });
  }
  // Whether a statement of a line begins at an address.
  bool begins_statement(std::uint64_t vaddr, int line) const {
    const std::size_t first = from(vaddr);
    for (std::size_t i = first; i < count_ && address(i) == vaddr; ++i) {
      if (i - first == kMostRowsOfOne) return false;
      bool begins = false;
      int number = 0;
      if (dwarf_linebeginstatement((*this)[i], &begins) != 0 || !begins) continue;
      if (dwarf_lineno((*this)[i], &number) == 0 && number == line) return true;
    }
    return false;
  }

 private:
  Dwarf_Lines* rows_ = nullptr;
  std::size_t count_ = 0;
};

// Before a loop there may be padding, which is of no row.
void leave_out_padding(const Rows& rows, InlinedCall& call) {
  for (InlinedCall::Range& range : call.ranges) {
    const std::size_t first = rows.from(range.begin);
    if (first < rows.size() && rows.address(first) < range.end) range.begin = rows.address(first);
  }
}

// Copies of its code have no entries of their own in DWARF: they are pieces that begin with what
// the call begins with, and with a statement there. What was moved from its midst begins with none.
void add_entries(Dwarf_Die& unit, std::uint64_t entry, InlinedCall& call) {
  call.entries.push_back(entry);
  const auto first = written_at(unit, entry);
  if (!first) return;
  const Rows rows(unit);
  for (const InlinedCall::Range& range : call.ranges) {
    if (range.begin == entry || written_at(unit, range.begin) != first) continue;
    if (rows.begins_statement(range.begin, first->line)) call.entries.push_back(range.begin);
  }
  std::ranges::sort(call.entries);
}

// LLVM gives code that it has merged from several calls a call of its own, which is in no column.
bool has_column(Dwarf_Die& die) { return dwarf_hasattr(&die, DW_AT_call_column) != 0; }

}  // namespace

void InlinedCalls::add_unit(Unit unit) {
  std::vector<std::pair<Dwarf_Die, int>> pending = {{unit.entries, 0}};
  int budget = kMostDies;
  const std::size_t first = found_.size();
  bool columns = false;
  while (!pending.empty()) {
    auto [parent, depth] = pending.back();
    pending.pop_back();
    Dwarf_Die child;
    if (depth == kDeepestScope || dwarf_child(&parent, &child) != 0) continue;
    do {
      if (--budget < 0) return;
      if (dwarf_tag(&child) == DW_TAG_inlined_subroutine) {
        columns = columns || has_column(child);
        add(unit.lines, child, depth);
      }
      if (holds_code(child) || may_hold_functions(child)) pending.emplace_back(child, depth + 1);
    } while (dwarf_siblingof(&child, &child) == 0);
  }
  if (!columns) return;
  const auto merged = std::remove_if(found_.begin() + static_cast<std::ptrdiff_t>(first),
                                     found_.end(), [](const Found& one) { return !one.column; });
  found_.erase(merged, found_.end());
}

const std::string& InlinedCalls::name_if_meant(Dwarf_Die& die) {
  static const std::string nothing;
  Dwarf_Attribute attribute;
  Dwarf_Die function;
  if (dwarf_attr(&die, DW_AT_abstract_origin, &attribute) == nullptr ||
      dwarf_formref_die(&attribute, &function) == nullptr) {
    return nothing;
  }
  const auto [it, fresh] = judged_.try_emplace(function.addr);
  if (fresh && is_called(function, name_, scopes_)) it->second = full_name_of(function, scopes_);
  return it->second;
}

// One without code is none: what it did was done before the program ran, or is done elsewhere.
// Without DW_AT_entry_pc nothing says where it begins: clang's lowest address may be any block's.
void InlinedCalls::add(Dwarf_Die& unit, Dwarf_Die& die, int depth) {
  const std::string& name = name_if_meant(die);
  if (name.empty()) return;
  Found found{.depth = depth, .column = has_column(die)};
  Dwarf_Addr base = 0, start = 0, end = 0;
  std::ptrdiff_t at = 0;
  while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
    if (ranges_ == kMostRangesInAll) return;
    if (start >= end) continue;
    found.call.ranges.push_back({.begin = start, .end = end});
    ++ranges_;
  }
  if (found.call.ranges.empty()) return;
  join_ranges(found.call.ranges);
  Dwarf_Addr entry = 0;
  const bool known = dwarf_hasattr(&die, DW_AT_entry_pc) != 0 && dwarf_entrypc(&die, &entry) == 0;
  if (known && is_inside(found.call, entry)) {
    add_entries(unit, entry, found.call);
  } else {
    leave_out_padding(Rows(unit), found.call);
  }
  found.call.function = name;
  found_.push_back(std::move(found));
}

std::vector<InlinedCall> InlinedCalls::take() {
  std::ranges::stable_sort(
      found_, {}, [](const Found& found) { return std::pair(begin_of(found.call), found.depth); });
  std::vector<InlinedCall> out;
  out.reserve(found_.size());
  for (Found& found : found_) out.push_back(std::move(found.call));
  return out;
}

std::vector<std::uint8_t> write_inlined_calls(const std::vector<InlinedCall>& calls) {
  NumberWriter out;
  out.number(kInlinedVersion);
  out.number(calls.size());
  for (const InlinedCall& call : calls) {
    out.text(call.function);
    out.number(call.entries.size());
    std::uint64_t last = 0;
    for (const std::uint64_t entry : call.entries) {
      out.number(entry - last);
      last = entry;
    }
    out.number(call.ranges.size());
    last = 0;
    for (const InlinedCall::Range& range : call.ranges) {
      out.number(range.begin - last);
      out.number(range.end - range.begin);
      last = range.end;
    }
  }
  return out.take();
}

std::optional<std::vector<InlinedCall>> read_inlined_calls(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kLeastOfCall = 3;
  constexpr std::size_t kLeastOfRange = 2;
  NumberReader in(bytes);
  if (in.number() != kInlinedVersion) return std::nullopt;
  std::vector<InlinedCall> out(in.count(kLeastOfCall));
  for (InlinedCall& call : out) {
    call.function = in.text();
    call.entries.resize(in.count());
    std::uint64_t last = 0;
    for (std::uint64_t& entry : call.entries) last = entry = in.behind(last);
    call.ranges.resize(in.count(kLeastOfRange));
    last = 0;
    for (InlinedCall::Range& range : call.ranges) {
      range.begin = in.behind(last);
      last = range.end = in.behind(range.begin);
    }
    if (call.ranges.empty()) in.refuse();
    if (!in.good()) return std::nullopt;
  }
  if (!in.at_end() || !in.good()) return std::nullopt;
  return out;
}

}  // namespace hodo::symbol
