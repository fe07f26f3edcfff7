#include "dwarf_source.h"

#include <dwarf.h>

#include <algorithm>
#include <map>
#include <ranges>

#include "dies.h"
#include "inlined_calls.h"
#include "unit_reader.h"

namespace hodo::symbol {
namespace {

// Limits for files that lie, as those of dies.h.
constexpr int kMostUnits = 1 << 20;
constexpr int kMostRanges = 1 << 22;
constexpr std::size_t kMostRows = 1 << 24;

// The first entry that `is_wanted` of those directly inside `die`, or inside what is `gone_into`.
// With a list instead of recursion, as libdw's own dwarf_getscopes uses, and counting, since a
// damaged file's siblings can form a ring.
template <class IsWanted, class GoneInto>
std::optional<Dwarf_Die> find_inside(const Dwarf_Die& die, int& budget, IsWanted is_wanted,
                                     GoneInto gone_into) {
  std::vector<Dwarf_Die> pending = {die};
  while (!pending.empty()) {
    Dwarf_Die child;
    Dwarf_Die parent = pending.back();
    pending.pop_back();
    if (dwarf_child(&parent, &child) != 0) continue;
    do {
      if (--budget < 0) return std::nullopt;
      if (is_wanted(child)) return child;
      if (gone_into(child)) pending.push_back(child);
    } while (dwarf_siblingof(&child, &child) == 0);
  }
  return std::nullopt;
}

// The scope directly inside `die`, or what only holds others, that has the address.
std::optional<Dwarf_Die> inner_scope(const Dwarf_Die& die, std::uint64_t vaddr, int& budget) {
  const auto has = [vaddr](Dwarf_Die& child) {
    return holds_code(child) && dwarf_haspc(&child, vaddr) == 1;
  };
  return find_inside(die, budget, has, may_hold_functions);
}

// A function inside another one, in whose code it need not lie.
std::optional<Dwarf_Die> nested_function(const Dwarf_Die& unit, std::uint64_t vaddr, int& budget) {
  const auto has = [vaddr](Dwarf_Die& child) {
    return dwarf_tag(&child) == DW_TAG_subprogram && dwarf_haspc(&child, vaddr) == 1;
  };
  return find_inside(unit, budget, has, [](Dwarf_Die& child) {
    return holds_code(child) || may_hold_functions(child);
  });
}

// The functions around an address, outermost first: a function and the calls inlined into it.
std::vector<Dwarf_Die> functions_at(const Dwarf_Die& unit, std::uint64_t vaddr) {
  std::vector<Dwarf_Die> functions;
  int budget = kMostDies;
  std::optional<Dwarf_Die> scope = unit;
  for (int depth = 0; depth < kDeepestScope; ++depth) {
    scope = inner_scope(*scope, vaddr, budget);
    if (!scope && depth == 0) scope = nested_function(unit, vaddr, budget);
    if (!scope) break;
    if (!is_function(*scope)) continue;
    if (dwarf_tag(&*scope) == DW_TAG_subprogram)
      functions.clear();  // nested functions are no calls
    functions.push_back(*scope);
  }
  return functions;
}

Position position_of_address(Dwarf_Die& unit, std::uint64_t vaddr) {
  Dwarf_Line* const line = dwarf_getsrc_die(&unit, vaddr);
  if (line == nullptr) return {};
  int number = 0;
  if (dwarf_lineno(line, &number) != 0 || number < 0) number = 0;
  return {absolute(unit, dwarf_linesrc(line, nullptr, nullptr)),
          static_cast<std::uint32_t>(number)};
}

// Adds up line tables.
class LineCollector {
 public:
  // `lines` are sorted by address; each holds up to where the next begins.
  void add(Dwarf_Die& unit, Dwarf_Lines* lines, std::size_t count) {
    last_path_ = nullptr;
    for (std::size_t i = 0; i + 1 < count && table_.rows.size() < kMostRows; ++i) {
      Dwarf_Line* const line = dwarf_onesrcline(lines, i);
      Dwarf_Line* const next = dwarf_onesrcline(lines, i + 1);
      LineRow row;
      int number = 0;
      bool ends = true;
      const bool good = dwarf_lineendsequence(line, &ends) == 0 && !ends &&
                        dwarf_lineno(line, &number) == 0 && number > 0 &&
                        dwarf_lineaddr(line, &row.address) == 0 &&
                        dwarf_lineaddr(next, &row.end) == 0 &&
                        dwarf_linebeginstatement(line, &row.statement) == 0;
      if (!good || row.end < row.address) continue;
      row.line = static_cast<std::uint32_t>(number);
      row.file = file(unit, dwarf_linesrc(line, nullptr, nullptr));
      table_.rows.push_back(row);
    }
  }
  LineTable take() {
    std::ranges::stable_sort(table_.rows, {}, &LineRow::address);
    return std::move(table_);
  }

 private:
  std::uint32_t file(Dwarf_Die& unit, const char* path) {
    if (path == last_path_) return last_;  // rows of one file share its string
    const auto [it, fresh] = numbers_.try_emplace(absolute(unit, path), table_.files.size());
    if (fresh) table_.files.push_back(it->first);
    last_path_ = path;
    return last_ = it->second;
  }

  LineTable table_;
  std::map<std::string, std::uint32_t> numbers_;
  const char* last_path_ = nullptr;
  std::uint32_t last_ = 0;
};

}  // namespace

DwarfSource::DwarfSource(ElfFile file, Dwarf* dwarf)
    : file_(std::move(file)), path_(file_.path()), dwarf_(dwarf) {
  read_units();
}

std::optional<DwarfSource> DwarfSource::open(ElfFile file) {
  if (!file.unpacks_within_bounds()) return std::nullopt;
  Dwarf* const dwarf = dwarf_begin_elf(file.handle(), DWARF_C_READ, nullptr);
  if (dwarf == nullptr) return std::nullopt;
  throw_without_memory(dwarf);
  DwarfSource source(std::move(file), dwarf);
  if (source.units_.empty()) return std::nullopt;
  return source;
}

namespace {

// The rest of a unit that was split off to a .dwo file (-gsplit-dwarf) has its lines and ranges.
bool has_lines(std::uint8_t type) { return type == DW_UT_compile || type == DW_UT_skeleton; }

}  // namespace

// Asks each unit for its ranges: .debug_aranges is faster, but not every compiler writes it.
void DwarfSource::read_units() {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  std::uint8_t type = 0;
  for (int units = 0; units < kMostUnits; ++units) {
    if (dwarf_get_units(dwarf_.get(), unit, &unit, nullptr, &type, &die, nullptr) != 0) break;
    if (!has_lines(type)) continue;
    Dwarf_Addr base = 0, start = 0, end = 0;
    std::ptrdiff_t at = 0;
    while ((at = dwarf_ranges(&die, at, &base, &start, &end)) > 0) {
      if (units_.size() == kMostRanges) break;
      if (start < end) units_.push_back({start, end, dwarf_dieoffset(&die)});
    }
  }
  std::ranges::sort(units_, {}, &UnitRange::start);
}

Unit DwarfSource::whole(const Dwarf_Die& unit) {
  Unit out = whole_unit(unit, path_);
  if (missing_.empty()) missing_ = out.missing;
  return out;
}

std::optional<Dwarf_Die> DwarfSource::unit_of(std::uint64_t vaddr) {
  Dwarf_Die die;
  const auto unit = unit_at(units_, vaddr);
  if (!unit || dwarf_offdie(dwarf_.get(), *unit, &die) == nullptr) return std::nullopt;
  return die;
}

std::optional<UnitLines> DwarfSource::unit_lines(std::uint64_t unit) {
  Dwarf_Die die;
  if (dwarf_offdie(dwarf_.get(), unit, &die) == nullptr) return std::nullopt;
  return read_unit(whole(die));
}

namespace {

// Bytes behind the first entry of a unit.
std::uint64_t bytes_of(Dwarf_Die die) {
  const Dwarf_Off at = dwarf_dieoffset(&die);
  Dwarf_Off next = 0;
  std::size_t header = 0;
  const bool known = dwarf_nextcu(dwarf_cu_getdwarf(die.cu), at - dwarf_cuoffset(&die), &next,
                                  &header, nullptr, nullptr, nullptr) == 0;
  return known && next > at ? next - at : 0;
}

}  // namespace

std::uint64_t DwarfSource::size_of(std::uint64_t unit) {
  Dwarf_Die die;
  if (dwarf_offdie(dwarf_.get(), unit, &die) == nullptr) return 0;
  const Unit both = whole(die);
  const bool split = both.entries.addr != both.lines.addr;
  return bytes_of(both.lines) + (split ? bytes_of(both.entries) : 0);
}

std::vector<SourceFrame> DwarfSource::frames(std::uint64_t vaddr) {
  std::vector<SourceFrame> frames;
  auto unit = unit_of(vaddr);
  if (!unit) return frames;
  Position position = position_of_address(*unit, vaddr);
  auto functions = functions_at(whole(*unit).entries, vaddr);
  if (functions.empty()) {
    if (position.line != 0) frames.push_back({"", std::move(position.file), position.line, false});
    return frames;
  }
  for (auto& function : functions | std::views::reverse) {
    const bool inlined = dwarf_tag(&function) == DW_TAG_inlined_subroutine;
    frames.push_back({name_of(function), position.file, position.line, inlined});
    if (inlined) position = position_of_call(*unit, function);
  }
  return frames;
}

namespace {

// The function in `unit` of that name that was inlined somewhere.
std::optional<Dwarf_Die> inlined_in(const Dwarf_Die& unit, std::string_view wanted,
                                    Scopes& scopes) {
  int budget = kMostDies;
  const auto is_it = [wanted, &scopes](Dwarf_Die& child) {
    return dwarf_tag(&child) == DW_TAG_subprogram && is_inlined(child) &&
           is_called(child, wanted, scopes);
  };
  return find_inside(unit, budget, is_it, may_hold_functions);
}

}  // namespace

std::optional<SourceFrame> DwarfSource::inlined(std::string_view name) {
  Scopes scopes;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  std::uint8_t type = 0;
  for (int units = 0; units < kMostUnits; ++units) {
    if (dwarf_get_units(dwarf_.get(), unit, &unit, nullptr, &type, &die, nullptr) != 0) break;
    if (!has_lines(type)) continue;
    auto found = inlined_in(whole(die).entries, name, scopes);
    if (!found) continue;
    Position position = position_of_definition(die, *found);
    return SourceFrame{full_name_of(*found, scopes), std::move(position.file), position.line, true};
  }
  return std::nullopt;
}

std::vector<InlinedCall> DwarfSource::inlined_calls(std::string_view name) {
  InlinedCalls calls(name);
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  std::uint8_t type = 0;
  for (int units = 0; units < kMostUnits; ++units) {
    if (dwarf_get_units(dwarf_.get(), unit, &unit, nullptr, &type, &die, nullptr) != 0) break;
    if (has_lines(type)) calls.add_unit(whole(die));
  }
  return calls.take();
}

namespace {

// Adds the functions that a unit defines; false: there are too many entries.
bool add_functions(const Dwarf_Die& unit, DebugFunctions& out) {
  int budget = kMostDies;
  const auto add = [&out](Dwarf_Die& child) {
    const bool defined =
        dwarf_tag(&child) == DW_TAG_subprogram && !dwarf_hasattr(&child, DW_AT_declaration);
    if (std::string name = defined ? name_of(child) : ""; !name.empty()) {
      out.functions.emplace(std::move(name), DebugFunctions::Function{
                                                 static_cast<std::uint32_t>(out.units.size() - 1),
                                                 is_inlined(child)});
    }
    return false;
  };
  find_inside(unit, budget, add, may_hold_functions);
  return budget >= 0;
}

}  // namespace

// What was split off (-gsplit-dwarf, dwz) is not looked for.
DebugFunctions DwarfSource::functions() {
  DebugFunctions out{.whole = dwarf_getalt(dwarf_.get()) == nullptr};
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  std::uint8_t type = 0;
  for (int units = 0; out.whole; ++units) {
    const int got = dwarf_get_units(dwarf_.get(), unit, &unit, nullptr, &type, &die, nullptr);
    if (got == 1) break;
    const bool has_functions = type == DW_UT_compile || type == DW_UT_partial;
    out.whole = got == 0 && units < kMostUnits && type != DW_UT_skeleton;
    if (!out.whole || !has_functions) continue;
    out.units.push_back({string_of(die, DW_AT_name), string_of(die, DW_AT_producer)});
    out.whole = add_functions(die, out);
  }
  return out;
}

LineTable DwarfSource::lines() {
  LineCollector collector;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  std::uint8_t type = 0;
  for (int units = 0; units < kMostUnits; ++units) {
    if (dwarf_get_units(dwarf_.get(), unit, &unit, nullptr, &type, &die, nullptr) != 0) break;
    Dwarf_Lines* lines = nullptr;
    std::size_t count = 0;
    if (!has_lines(type) || dwarf_getsrclines(&die, &lines, &count) != 0) continue;
    collector.add(die, lines, count);
  }
  return collector.take();
}

}  // namespace hodo::symbol
