#include "jump_tables.h"

#include <algorithm>
#include <utility>

#include "hodo/isa/insn.h"

namespace hodo::text {
namespace {

// Labels of one function that its tables may count from; the compiler shares one among them.
constexpr std::size_t kMostLabels = 4;

constexpr std::uint64_t kLongestInsn = 15;  // bytes

class TableMarker {
 public:
  TableMarker(const ElfBytes& elf, const FunctionMap& functions, TextMap& text)
      : elf_(elf), functions_(functions), text_(text), budget_(elf.file().size()) {}

  // The entries of a table, as distances from `base`, of 32 bits, or of 64 in the large model
  // (psABI). False: too many were read.
  template <class Distance = std::int32_t>
  bool mark(const Sweep::Reference& use, std::uint64_t base, bool& found) {
    ByteReader table(elf_.at(use.to));
    std::vector<Sweep::Reference> elsewhere;  // entries since the last one of the same function
    while (const auto distance = table.read<Distance>()) {
      if (budget_ == 0) return false;
      --budget_;
      const std::uint64_t target =
          elf_.cut(base + static_cast<std::uint64_t>(std::int64_t{*distance}));
      if ((text_.marks(target) & kInsn) == 0) break;
      if (!functions_.same(use.from, target)) {
        elsewhere.push_back({use.from, target});
        continue;
      }
      text_.mark(target, kTableTarget);
      found = true;
      // Between entries of the function lie those of a part that the compiler split off, to which
      // nothing else may lead.
      for (const Sweep::Reference& part : elsewhere) text_.mark(part.to, kTableTarget);
      parts_.insert(parts_.end(), elsewhere.begin(), elsewhere.end());
      elsewhere.clear();
    }
    return true;
  }

  // The entries of a table by GHC, whose position-independent code has distances of 32 bits from
  // the table with as many zeros behind each. There is data among that code: what the sweep read at
  // a target need not be what runs, and the code at it may count as another function. The table
  // ends where code names another address (`end`). False: too many were read.
  bool mark_filled(const Sweep::Reference& use, std::uint64_t end, bool& found) {
    ByteReader table(elf_.at(use.to));
    for (std::uint64_t at = use.to; at < end; at += sizeof(std::uint64_t)) {
      const auto entry = table.read<std::uint64_t>();
      if (entry == 0 && at == use.to) continue;  // of the tag that no constructor has
      // Only negative ones: text lies before such tables, and small numbers are anything.
      if (!entry || *entry >> 31 != 1) return true;
      if (budget_ == 0) return false;
      --budget_;
      const std::uint64_t target = use.to - ((std::uint64_t{1} << 32) - *entry);
      if (!text_.contains(target)) return true;
      if (is_inside_certain(target)) continue;
      if ((text_.marks(target) & (kInsn | kTableTarget)) == 0) unread_.push_back(target);
      text_.mark(target, kTableTarget);
      found = true;
      if (!functions_.same(use.from, target)) parts_.push_back({use.from, target});
    }
    return true;
  }

  // From functions to parts of them that only tables lead to.
  const std::vector<Sweep::Reference>& parts() const { return parts_; }
  std::vector<std::uint64_t> take_unread() { return std::move(unread_); }

 private:
  // In the middle of an instruction that is no data.
  bool is_inside_certain(std::uint64_t address) const {
    if ((text_.marks(address) & kInsn) != 0) return false;
    for (std::uint64_t back = 1; back < kLongestInsn; ++back) {
      if ((text_.marks(address - back) & kFlow) == 0) continue;
      const auto insn = isa::decode(text_.bytes(address - back), address - back, elf_.mode());
      return insn && insn->length > back;
    }
    return false;
  }

  const ElfBytes& elf_;
  const FunctionMap& functions_;
  TextMap& text_;
  std::uint64_t budget_;
  std::vector<Sweep::Reference> parts_;
  std::vector<std::uint64_t> unread_;
};

// Assembly whose pieces are entered by number: a table of 16-bit distances from where its function
// begins, that other code makes pointers of (LuaJIT's interpreter). Nothing says where such a table
// ends, nor that it is one, but that many entries in a row lead to instructions.
class DistanceTables {
 public:
  DistanceTables(const ElfBytes& elf, const FunctionMap& functions, const Sweep& sweep,
                 TextMap& text)
      : elf_(elf), functions_(functions), text_(text), budget_(elf.file().size()) {
    jumps_.resize(functions.all().size());
    for (const std::uint64_t at : sweep.indirect_jumps) {
      if (const auto index = functions.index(at)) jumps_[*index] = true;
    }
  }

  // `labels`: addresses in the text that a function loads; `table`: one elsewhere.
  void mark(const std::vector<std::uint64_t>& labels, std::uint64_t table) {
    for (const std::uint64_t label : labels) {
      const auto index = functions_.index(label);
      if (!index || !jumps_[*index] || functions_.all()[*index].begin != label) continue;
      const auto targets = read(*index, table);
      if (targets.size() < kFewest) continue;
      for (const std::uint64_t target : targets) text_.mark(target, kTableTarget);
    }
  }

 private:
  static constexpr std::size_t kFewest = 32;  // by chance one in four fits

  std::vector<std::uint64_t> read(std::uint32_t index, std::uint64_t table) {
    std::vector<std::uint64_t> out;
    const Function& function = functions_.all()[index];
    ByteReader reader(elf_.at(table));
    while (const auto distance = reader.read<std::uint16_t>()) {
      const std::uint64_t target = function.begin + *distance;
      if (budget_ == 0 || target >= function.end || (text_.marks(target) & kInsn) == 0) break;
      --budget_;
      out.push_back(target);
    }
    return out;
  }

  const ElfBytes& elf_;
  const FunctionMap& functions_;
  TextMap& text_;
  std::vector<bool> jumps_;  // functions with an indirect jump
  std::uint64_t budget_;
};

void mark_distance_tables(const ElfBytes& elf, const Sweep& sweep, const FunctionMap& functions,
                          TextMap& text) {
  std::vector<std::vector<std::uint64_t>> labels(functions.all().size());
  for (const Sweep::Reference& label : sweep.labels) {
    const auto index = functions.index(label.from);
    if (index && labels[*index].size() < kMostLabels) labels[*index].push_back(label.to);
  }
  DistanceTables tables(elf, functions, sweep, text);
  for (const Sweep::Reference& use : sweep.references) {
    const auto index = functions.index(use.from);
    if (index) tables.mark(labels[*index], use.to);
  }
}

// A function that loads its own labels, and has no table, adds to them: it jumps into a row of
// pieces of equal size (libffi's ffi_call_unix64). Where the last one ends is not written anywhere.
void mark_behind_labels(const Function& function, const std::vector<std::uint64_t>& labels,
                        TextMap& text) {
  const std::uint64_t first = std::max(*std::ranges::min_element(labels), function.begin);
  // Only where there is text: a symbol may claim all addresses for its function.
  const auto stretches = text.stretches();
  auto s = std::ranges::partition_point(stretches, [&](const auto& x) { return x.end() <= first; });
  for (; s != stretches.end() && s->begin < function.end; ++s) {
    const std::uint64_t end = std::min(s->end(), function.end);
    for (std::uint64_t at = std::max(s->begin, first); at < end; ++at) {
      if ((text.marks(at) & kInsn) != 0) text.mark(at, kTableTarget);
    }
  }
}

// Functions with an indirect jump, also one that is made by a retpoline: a function of its own that
// they jump to, or a piece of themselves.
std::vector<bool> with_indirect_jump(const Sweep& sweep, const FunctionMap& functions) {
  std::vector<bool> out(functions.all().size());
  for (const auto* jumps : {&sweep.indirect_jumps, &sweep.retpolines}) {
    for (const std::uint64_t at : *jumps) {
      if (const auto index = functions.index(at)) out[*index] = true;
    }
  }
  std::vector<std::uint64_t> thunks;
  for (const std::uint64_t at : sweep.retpolines) {
    if (const auto index = functions.index(at)) thunks.push_back(functions.all()[*index].begin);
  }
  std::ranges::sort(thunks);
  for (const Sweep::Reference& jump : sweep.jumps) {
    if (!std::ranges::binary_search(thunks, jump.to)) continue;
    if (const auto index = functions.index(jump.from)) out[*index] = true;
  }
  return out;
}

}  // namespace

JumpTables mark_jump_tables(const ElfBytes& elf, const Sweep& sweep, FunctionMap& functions,
                            TextMap& text) {
  const std::size_t count = functions.all().size();
  const std::vector<bool> jumps = with_indirect_jump(sweep, functions);
  std::vector<std::vector<std::uint64_t>> labels(count);
  for (const Sweep::Reference& label : sweep.labels) {
    const auto index = functions.index(label.from);
    if (!index || !jumps[*index] || !functions.same(label.from, label.to)) continue;
    auto& known = labels[*index];
    const bool fresh = std::ranges::find(known, label.to) == known.end();
    if (fresh && known.size() < kMostLabels) known.push_back(label.to);
  }
  std::vector<std::uint64_t> named;  // outside the text, ascending
  named.reserve(sweep.references.size());
  for (const Sweep::Reference& use : sweep.references) named.push_back(use.to);
  std::ranges::sort(named);
  std::vector<bool> tables(count);  // functions with a table
  TableMarker marker(elf, functions, text);
  std::vector<std::uint64_t> indirect_jumps = sweep.indirect_jumps;
  std::ranges::sort(indirect_jumps);
  const auto end_of = [&](const Sweep::Reference& use) {
    const auto next = std::ranges::upper_bound(named, use.to);
    return next == named.end() ? ~std::uint64_t{0} : *next;
  };
  // Of code that belongs to no function, as in GHC's libraries without symbols, only what jumps
  // right behind naming it uses a table.
  const auto jumps_on = [&](std::uint64_t from) {
    constexpr std::uint64_t kReach = 32;
    const auto next = std::ranges::upper_bound(indirect_jumps, from);
    return next != indirect_jumps.end() && *next - from <= kReach;
  };
  const auto read_tables = [&](const Sweep::Reference& use) {
    const auto index = functions.index(use.from);
    if (!index && !elf.is_narrow() && jumps_on(use.from)) {
      bool found = false;
      return marker.mark_filled(use, end_of(use), found);
    }
    if (!index || !jumps[*index]) return true;
    bool found = false;
    bool whole = marker.mark(use, use.to, found);
    // V8 puts tables behind the code of their function.
    const bool own = functions.same(use.from, use.to);
    if (!own && !elf.is_narrow()) {
      whole = whole && marker.mark<std::int64_t>(use, use.to, found) &&
              marker.mark_filled(use, end_of(use), found);
    }
    for (const std::vector<std::uint64_t>* bases :
         {&std::as_const(labels[*index]), &sweep.table_bases}) {
      if (own) break;
      for (const std::uint64_t base : *bases) whole = whole && marker.mark(use, base, found);
    }
    if (found) tables[*index] = true;
    return whole;
  };
  // Some linkers put read-only data among the text, where a table looks like a label elsewhere.
  if (!std::ranges::all_of(sweep.references, read_tables) ||
      !std::ranges::all_of(sweep.labels, read_tables)) {
    return {.complete = false, .unread = {}};
  }
  functions.join(marker.parts());
  mark_distance_tables(elf, sweep, functions, text);
  for (std::size_t i = 0; i < count; ++i) {
    if (!labels[i].empty() && !tables[i]) mark_behind_labels(functions.all()[i], labels[i], text);
  }
  return {.complete = true, .unread = marker.take_unread()};
}

}  // namespace hodo::text
