#include "pointer_targets.h"

#include <elf.h>

#include <algorithm>
#include <utility>

#include "loader_tables.h"
#include "vtables.h"

namespace hodo::text {
namespace {

// Functions that something may lead to by a distance of 32 bits: from itself, from the begin of the
// image or of its text, or from a table that code names; in the midst of a string from itself,
// behind a control character (Swift's symbolic references). What lies there need not be one: it is
// enough that it may.
class Distances {
 public:
  Distances(const ElfBytes& elf, const Pointers& pointers, const image::UnwindTables& unwind,
            const FunctionMap& functions, const TextMap& text, const Sweep& sweep)
      : elf_(elf), pointers_(pointers), functions_(functions), text_(text) {
    leave_out(unwind);
    const auto stretches = text.stretches();
    if (stretches.empty()) return;
    text_begin_ = stretches.front().begin;
    text_size_ = stretches.back().end() - text_begin_;
    bases_ = {0, text_begin_, elf.section(".text").value_or(0)};
    std::ranges::sort(bases_);
    bases_.erase(std::ranges::unique(bases_).begin(), bases_.end());
    for (const image::Segment& segment : elf.elf().segments) take_words(segment);
    take_tables(sweep);
    std::ranges::sort(found_);
  }

  bool contains(std::uint64_t function) const {
    return std::ranges::binary_search(found_, function);
  }

 private:
  static constexpr std::uint64_t kSize = 4;
  static constexpr std::uint32_t kSmall = 1 << 16;

  // Tables whose numbers no code goes by, though some are addresses or look like distances.
  void leave_out(const image::UnwindTables& unwind) {
    left_out_ = loader_tables(elf_);
    left_out_.push_back(unwind.frames);
    if (const auto header = elf_.part(PT_GNU_EH_FRAME)) {
      left_out_.push_back({header->vaddr, header->vaddr + header->size});
    }
  }

  // What Pointers knows of is judged by that.
  bool is_left_out(std::uint64_t place) const {
    return pointers_.at(place / Pointers::kWord * Pointers::kWord) != nullptr ||
           std::ranges::any_of(left_out_, [&](const Function& table) {
             return place - table.begin < table.end - table.begin;
           });
  }

  bool is_start(std::uint64_t address) const {
    return address - text_begin_ < text_size_ && (text_.marks(address) & kStart) != 0;
  }

  void take_words(const image::Segment& segment) {
    const auto bytes = elf_.of(segment);
    for (std::uint64_t at = (kSize - segment.vaddr % kSize) % kSize;
         at < bytes.size() && kSize <= bytes.size() - at; at += kSize) {
      const std::uint64_t place = segment.vaddr + at;
      // Data may lie between functions.
      const Function* code = segment.executable ? functions_.at(place) : nullptr;
      if (code != nullptr) {
        at += (code->end - 1 - place) / kSize * kSize;
        continue;
      }
      const std::int32_t word = word_at(bytes, at);
      if (word != 0) take_word(place, word, bytes, at);
      for (std::uint64_t in = 1; in < kSize; ++in) take_in_string(place + in, bytes, at + in);
    }
  }

  void take_in_string(std::uint64_t place, std::span<const std::uint8_t> bytes, std::size_t at) {
    constexpr std::uint8_t kControls = 0x20;
    const std::uint8_t before = bytes[at - 1];
    if (before == 0 || before >= kControls) return;
    const std::uint64_t target =
        place + static_cast<std::uint64_t>(std::int64_t{word_at(bytes, at)});
    if (is_start(target) && !is_left_out(place)) found_.push_back(target);
  }

  static std::int32_t word_at(std::span<const std::uint8_t> bytes, std::size_t at) {
    if (at > bytes.size()) return 0;
    return ByteReader(bytes.subspan(at)).read<std::int32_t>().value_or(0);
  }

  void take_word(std::uint64_t place, std::int32_t word, std::span<const std::uint8_t> bytes,
                 std::size_t at) {
    const std::size_t before = found_.size();
    const auto distance = static_cast<std::uint64_t>(std::int64_t{word});
    if (is_start(place + distance)) found_.push_back(place + distance);
    for (const std::uint64_t base : bases_) {
      if (!is_distance(base, word)) continue;
      if (static_cast<std::uint32_t>(word) >= kSmall || is_in_row(bytes, at, base)) {
        found_.push_back(base + static_cast<std::uint32_t>(word));
      }
    }
    if (found_.size() != before && is_left_out(place)) found_.resize(before);
  }

  bool is_distance(std::uint64_t base, std::int32_t word) const {
    return word != 0 && is_start(base + static_cast<std::uint32_t>(word));
  }

  // Small numbers are everywhere, and functions that lie early in the text are so far from where it
  // begins. A table has several, one behind the other or in records of one size.
  bool is_in_row(std::span<const std::uint8_t> bytes, std::size_t at, std::uint64_t base) const {
    constexpr std::size_t kLargestRecord = 32;
    for (std::size_t stride = kSize; stride <= kLargestRecord; stride += kSize) {
      const auto is = [&](std::size_t where) { return is_distance(base, word_at(bytes, where)); };
      const bool before = at >= stride && is(at - stride);
      const bool behind = is(at + stride);
      if (before && (behind || (at >= 2 * stride && is(at - 2 * stride)))) return true;
      if (behind && is(at + 2 * stride)) return true;
    }
    return false;
  }

  void take_tables(const Sweep& sweep) {
    std::uint64_t budget = elf_.file().size();
    for (const Sweep::Reference& use : sweep.references) {
      ByteReader table(elf_.at(use.to));
      while (const auto distance = table.read<std::int32_t>()) {
        const std::uint64_t target = use.to + static_cast<std::uint64_t>(std::int64_t{*distance});
        if (budget == 0 || (text_.marks(target) & kInsn) == 0) break;
        --budget;
        if (is_start(target)) found_.push_back(target);
      }
    }
  }

  const ElfBytes& elf_;
  const Pointers& pointers_;
  const FunctionMap& functions_;
  const TextMap& text_;
  std::uint64_t text_begin_ = 0;
  std::uint64_t text_size_ = 0;
  std::vector<Function> left_out_;
  std::vector<std::uint64_t> bases_;
  std::vector<std::uint64_t> found_;
};

class Collection {
 public:
  Collection(const ElfBytes& elf, const Pointers& pointers, const TextMap& text,
             const std::vector<ElfBytes::Export>& exports)
      : pointers_(pointers), text_(text) {
    known_.push_back(elf.elf().entry);
    for (const std::int64_t tag : {DT_INIT, DT_FINI})
      known_.push_back(elf.dynamic(tag).value_or(0));
    for (const ElfBytes::Export& e : exports) exported_.push_back(e.address);
    std::ranges::sort(exported_);
  }

  PointerTargets of(const image::UnwindTables& compiled, const Distances& distances,
                    const Vtables& vtables) {
    for (const Pointer& p : pointers_.all()) {
      if (p.to != 0 && text_.contains(p.to) && vtables.at(p.place) == nullptr) {
        known_.push_back(p.to);
      }
    }
    known_.insert(known_.end(), compiled.personalities.begin(), compiled.personalities.end());
    std::ranges::sort(known_);
    slots_.assign(vtables.slots().begin(), vtables.slots().end());
    std::ranges::stable_sort(slots_, {}, &VirtualSlot::function);
    for (const Function& f : compiled.functions) {
      if (is_unknown(f.begin) && !distances.contains(f.begin)) add(f.begin);
    }
    std::ranges::stable_sort(out_.slots, {}, &VirtualSlot::function);
    std::ranges::sort(out_.untaken);
    std::ranges::sort(out_.exported);
    return std::move(out_);
  }

 private:
  bool is_unknown(std::uint64_t function) const {
    constexpr Marks kReached = kNamed | kTableTarget | kLanding | kPlt;
    const Marks marks = text_.marks(function);
    return (marks & kStart) != 0 && (marks & kReached) == 0 &&
           !std::ranges::binary_search(known_, function);
  }

  void add(std::uint64_t function) {
    const bool exported = std::ranges::binary_search(exported_, function);
    const auto own = std::ranges::equal_range(slots_, function, {}, &VirtualSlot::function);
    if (own.empty()) {
      if ((text_.marks(function) & kTaken) == 0) {
        (exported ? out_.exported : out_.untaken).push_back(function);
      }
    } else if (!exported) {
      out_.slots.insert(out_.slots.end(), own.begin(), own.end());
    }
  }

  const Pointers& pointers_;
  const TextMap& text_;
  std::vector<std::uint64_t> known_;  // functions that something else leads to
  std::vector<std::uint64_t> exported_;
  std::vector<VirtualSlot> slots_;  // by function
  PointerTargets out_;
};

std::vector<std::uint64_t> named_data(const Pointers& pointers, const Sweep& sweep) {
  std::vector<std::uint64_t> out;
  for (const Pointer& p : pointers.all()) out.push_back(p.to);
  for (const Sweep::Reference& r : sweep.references) out.push_back(r.to);
  // A vtable's words are read from where an object points; pairs of pointers, to be stored at once,
  // lie behind it (GCC's pools of constants).
  out.insert(out.end(), sweep.accessed.begin(), sweep.accessed.end());
  std::ranges::sort(out);
  return out;
}

}  // namespace

PointerTargets pointer_targets(const ElfBytes& elf, std::span<const Relocation> relocations,
                               const image::UnwindTables& compiled, const Sweep& sweep,
                               const FunctionMap& functions, const TextMap& text) {
  const auto exports = elf.is_narrow() ? std::nullopt : elf.exports();
  if (!exports || !compiled.complete) return {};
  const Pointers pointers(elf, relocations);
  const Vtables vtables(elf, pointers, text, *exports, named_data(pointers, sweep));
  const Distances distances(elf, pointers, compiled, functions, text, sweep);
  return Collection(elf, pointers, text, *exports).of(compiled, distances, vtables);
}

}  // namespace hodo::text
