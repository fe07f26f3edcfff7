#include "synthetic_functions.h"

#include <elf.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "hodo/isa/insn.h"
#include "unwind.h"

namespace hodo::symbol {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint64_t kAlignment = 16;  // of functions, by all compilers
constexpr std::uint8_t kInt3 = 0xcc;

// Stubs have names of their own.
bool holds_functions(const Section& section) {
  return section.executable() && section.type == SHT_PROGBITS && !section.name.starts_with(".plt");
}

bool inside(std::span<const CodeRange> ranges, std::uint64_t address) {
  const auto after = std::ranges::upper_bound(ranges, address, {}, &CodeRange::start);
  return after != ranges.begin() && address < (after - 1)->end;
}

// Instructions that compilers and assemblers put between functions.
bool is_padding(Bytes insn) {
  while (insn.size() > 1 && (insn[0] == 0x66 || insn[0] == 0x2e)) insn = insn.subspan(1);
  if (insn[0] == 0x90 || insn[0] == kInt3) return true;  // nop, int3
  if (insn.size() < 3) return false;
  if (insn[0] == 0x0f && insn[1] == 0x1f) return true;  // nop with operands
  // lea 0(%esi),%esi and its like, of i386
  return insn[0] == 0x8d && (insn[1] == 0x76 || insn[1] == 0x74 || insn[1] == 0xb6 ||
                             insn[1] == 0xb4 || insn[1] == 0xbf || insn[1] == 0xbd);
}

bool never_falls_through(isa::InsnClass cls) {
  using enum isa::InsnClass;
  return cls == jmp || cls == ijmp || cls == ret;
}

// A pass over all code, for functions where `known` has none: what is called, and what stands
// behind the end of another function and its padding without being jumped to.
class Sweep {
 public:
  Sweep(std::span<const CodeRange> known, isa::Mode mode) : known_(known), mode_(mode) {}

  void add(Bytes code, std::uint64_t address);
  std::vector<std::uint64_t> finish();

 private:
  void step(const isa::Insn& insn, std::uint64_t address);
  void note_target(const isa::Insn& insn, std::uint64_t behind);
  // Whether what is known covers `address`, and where it begins the next time behind. Addresses
  // only go up within a section.
  bool covered(std::uint64_t address);
  std::uint64_t next_start(std::uint64_t address);

  std::span<const CodeRange> known_;
  isa::Mode mode_;
  std::size_t next_ = 0;  // the first of known_ that ends behind the address
  std::vector<std::uint64_t> called_;
  std::vector<std::uint64_t> behind_padding_;
  std::vector<std::uint64_t> jumped_to_;
  // Of what was decoded last:
  bool ended_ = true;  // nothing falls through to what follows
  bool padded_ = false;
  bool trapped_ = false;  // padded with int3, which stands between functions only
};

bool Sweep::covered(std::uint64_t address) {
  while (next_ < known_.size() && known_[next_].end <= address) ++next_;
  return next_ < known_.size() && known_[next_].start <= address;
}

std::uint64_t Sweep::next_start(std::uint64_t address) {
  const bool here = covered(address);
  const std::size_t after = next_ + (here ? 1 : 0);
  return after < known_.size() ? known_[after].start : ~std::uint64_t{0};
}

void Sweep::note_target(const isa::Insn& insn, std::uint64_t behind) {
  // "call next; pop" is how i386 asks for its own address.
  if (insn.target == behind || inside(known_, insn.target)) return;
  (insn.cls == isa::InsnClass::call ? called_ : jumped_to_).push_back(insn.target);
}

void Sweep::step(const isa::Insn& insn, std::uint64_t address) {
  if (ended_ && !covered(address) && (padded_ || address % kAlignment == 0)) {
    (trapped_ ? called_ : behind_padding_).push_back(address);
  }
  if (isa::has_direct_target(insn.cls)) note_target(insn, address + insn.length);
  ended_ = never_falls_through(insn.cls);
  padded_ = trapped_ = false;
}

void Sweep::add(Bytes code, std::uint64_t address) {
  next_ = 0;
  ended_ = true;
  padded_ = trapped_ = false;
  bool was_covered = false;
  for (std::size_t at = 0; at < code.size();) {
    const std::uint64_t here = address + at;
    const bool now_covered = covered(here);
    // Behind the end of what is known something new begins.
    if (was_covered && !now_covered) ended_ = true;
    was_covered = now_covered;
    // Where something is known to begin decoding begins anew.
    const auto room = static_cast<std::size_t>(
        std::min<std::uint64_t>({code.size() - at, next_start(here) - here, std::uint64_t{15}}));
    const Bytes bytes = code.subspan(at, room);
    const auto insn = isa::decode(bytes, here, mode_);
    const std::size_t length = insn ? insn->length : 1;
    if (!insn || is_padding(bytes.first(length))) {
      padded_ = true;
      trapped_ = trapped_ || bytes[0] == kInt3;
    } else {
      step(*insn, here);
    }
    at += length;
  }
}

std::vector<std::uint64_t> Sweep::finish() {
  std::ranges::sort(jumped_to_);
  for (const std::uint64_t address : behind_padding_) {
    if (!std::ranges::binary_search(jumped_to_, address)) called_.push_back(address);
  }
  return std::move(called_);
}

// What the parts of functions are parts of.
class Parts {
 public:
  struct Part {
    SyntheticFunction* function;
    Bytes code;
  };
  // By start, as `found` is, with all functions without names.
  Parts(std::span<const CodeRange> named, std::span<const SyntheticFunction> found,
        std::vector<Part> parts, isa::Mode mode)
      : named_(named), found_(found), parts_(std::move(parts)), mode_(mode) {}

  // By where they jump back, reading `most` bytes of code: entries that somebody made up overlap.
  void join_by_jumps(std::uint64_t most) {
    for (const Part& part : parts_) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(part.code.size(), most));
      most -= size;
      part.function->part_of = goes_back_to(part, size);
    }
  }
  // By a function's landing pad that lies there, or jumps there: `code` is what begins at the pad.
  void join_by_landing(const image::LandingPad& landing, Bytes code) {
    if (!goes_on_at(landing.begin)) return;
    join(landing.pad, landing.begin);
    constexpr int kLongest = 6;  // instructions, of a pad that only leads elsewhere
    std::size_t at = 0;
    for (int i = 0; i < kLongest; ++i) {
      const auto insn = isa::decode(code.subspan(at), landing.pad + at, mode_);
      if (!insn) return;
      if (insn->cls == isa::InsnClass::jmp) return join(insn->target, landing.begin);
      at += insn->length;
    }
  }

 private:
  static std::uint64_t start_of(const Part& part) { return part.function->start; }

  const Part* part_at(std::uint64_t address) const {
    const auto behind = std::ranges::upper_bound(parts_, address, {}, start_of);
    if (behind == parts_.begin()) return nullptr;
    const Part& part = *(behind - 1);
    return address - part.function->start < part.function->size ? &part : nullptr;
  }
  void join(std::uint64_t address, std::uint64_t whole) const {
    const Part* const part = part_at(address);
    if (part != nullptr && part->function->part_of == 0) part->function->part_of = whole;
  }
  std::uint64_t goes_back_to(const Part& part, std::size_t size) const {
    const std::uint64_t start = part.function->start;
    for (std::size_t at = 0; at < size;) {
      const auto insn = isa::decode(part.code.first(size).subspan(at), start + at, mode_);
      if (!insn) return 0;
      at += insn->length;
      const bool jumps = isa::has_direct_target(insn->cls) && insn->cls != isa::InsnClass::call;
      const bool leaves = jumps && insn->target - start >= part.function->size;
      if (leaves && goes_on_at(insn->target)) return insn->target;
    }
    return 0;
  }
  // Whether the address lies within a function that is no part, behind its begin.
  bool goes_on_at(std::uint64_t address) const {
    const auto named = std::ranges::upper_bound(named_, address, {}, &CodeRange::start);
    if (named != named_.begin() && address < (named - 1)->end) {
      return (named - 1)->start != address;
    }
    const auto found = std::ranges::upper_bound(found_, address, {}, &SyntheticFunction::start);
    if (found == found_.begin()) return false;
    const SyntheticFunction& one = *(found - 1);
    const bool within = address != one.start && address - one.start < one.size;
    return within && part_at(one.start) == nullptr;
  }

  std::span<const CodeRange> named_;
  std::span<const SyntheticFunction> found_;
  std::vector<Part> parts_;
  isa::Mode mode_;
};

// By start, those that overlap as one.
std::vector<CodeRange> merged(std::vector<CodeRange> ranges) {
  std::ranges::sort(ranges, {}, &CodeRange::start);
  std::vector<CodeRange> out;
  for (const CodeRange& range : ranges) {
    if (!out.empty() && range.start < out.back().end) {
      out.back().end = std::max(out.back().end, range.end);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

class Finder {
 public:
  Finder(const ElfFile& file, const image::Elf& elf, std::span<const CodeRange> named)
      : file_(file), elf_(elf), named_(named) {
    for (const Section& section : file.sections()) {
      if (holds_functions(section)) sections_.push_back(&section);
    }
  }

  void add_tables() {
    tables_ = unwind_tables(file_, elf_);
    for (const auto& f : tables_.functions) add(f.begin, f.end - f.begin);
    add(elf_.entry, 0);
  }
  void add_code();
  std::vector<SyntheticFunction> finish();

 private:
  void add(std::uint64_t start, std::uint64_t size);
  void join_parts();
  isa::Mode mode() const {
    return elf_.elf_class == image::ElfClass::elf64 ? isa::Mode::bits64 : isa::Mode::bits32;
  }
  // To the end of the section.
  Bytes code_from(std::uint64_t address) const;

  const ElfFile& file_;
  const image::Elf& elf_;
  std::span<const CodeRange> named_;
  std::vector<const Section*> sections_;
  image::UnwindTables tables_;
  std::vector<SyntheticFunction> found_;
};

void Finder::add(std::uint64_t start, std::uint64_t size) {
  if (inside(named_, start)) return;
  for (const Section* section : sections_) {
    if (start - section->address >= section->size) continue;
    const std::uint64_t room = section->size - (start - section->address);
    found_.push_back({start, std::min(size, room), start + room});
    return;
  }
}

void Finder::add_code() {
  std::vector<CodeRange> known(named_.begin(), named_.end());
  for (const SyntheticFunction& f : found_) known.push_back({f.start, f.start + f.size});
  known = merged(std::move(known));
  Sweep sweep(known, mode());
  for (const Section* section : sections_) sweep.add(file_.bytes(*section), section->address);
  for (const std::uint64_t start : sweep.finish()) add(start, 0);
}

Bytes Finder::code_from(std::uint64_t address) const {
  for (const Section* section : sections_) {
    const Bytes all = file_.bytes(*section);
    if (address - section->address < all.size()) return all.subspan(address - section->address);
  }
  return {};
}

void Finder::join_parts() {
  std::vector<std::uint64_t> starts;
  for (const auto& f : tables_.functions) {
    if (f.part) starts.push_back(f.begin);
  }
  std::ranges::sort(starts);
  std::vector<Parts::Part> all;
  for (SyntheticFunction& f : found_) {
    if (!std::ranges::binary_search(starts, f.start)) continue;
    const Bytes code = code_from(f.start);
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(code.size(), f.size));
    all.push_back({&f, code.first(size)});
  }
  if (all.empty()) return;
  std::uint64_t bytes = 0;
  for (const Section* section : sections_) bytes += section->size;
  Parts parts(named_, found_, std::move(all), mode());
  parts.join_by_jumps(bytes);
  for (const image::LandingPad& one : tables_.landings) {
    parts.join_by_landing(one, code_from(one.pad));
  }
}

std::vector<SyntheticFunction> Finder::finish() {
  // Of several at one place the one whose size is known.
  std::ranges::sort(found_, [](const SyntheticFunction& a, const SyntheticFunction& b) {
    return a.start != b.start ? a.start < b.start : a.size > b.size;
  });
  const auto repeated = std::ranges::unique(found_, {}, &SyntheticFunction::start);
  found_.erase(repeated.begin(), repeated.end());
  join_parts();
  return std::move(found_);
}

}  // namespace

std::vector<SyntheticFunction> find_functions(const ElfFile& file, const image::Elf& elf,
                                              std::span<const CodeRange> named, LookInto where) {
  Finder finder(file, elf, named);
  finder.add_tables();
  if (where == LookInto::tables_and_code) finder.add_code();
  return finder.finish();
}

}  // namespace hodo::symbol
