// text.source, text.target, text.changed: the branch against the bytes of the file.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "behind_data.h"
#include "changed_text.h"
#include "edge_rules.h"
#include "hodo/base/page.h"
#include "hodo/isa/disasm.h"
#include "hodo/symbol/demangle.h"
#include "hodo/text/names.h"
#include "loaded_text.h"

namespace hodo::check {
namespace {

using isa::InsnClass;

// The kind that a decoder gives to an instruction of this class.
bool same_kind(InsnClass cls, BranchKind kind) {
  switch (cls) {
    case InsnClass::cond:
      return kind == BranchKind::cond;
    case InsnClass::jmp:
      return kind == BranchKind::jmp;
    case InsnClass::ijmp:
    case InsnClass::far_jmp:
      return kind == BranchKind::ijmp || kind == BranchKind::jmp;
    case InsnClass::call:
      return kind == BranchKind::call;
    case InsnClass::icall:
    case InsnClass::far_call:
      return kind == BranchKind::icall || kind == BranchKind::call;
    case InsnClass::ret:
    case InsnClass::far_ret:
      return kind == BranchKind::ret;
    default:
      return true;
  }
}

// Events that no instruction makes, and those of the kernel's side, are not the text's.
bool is_text_branch(const Branch& branch) {
  return branch.kind <= BranchKind::ret && (branch.flags & kAsync) == 0;
}

// Interrupts and exceptions lead to the kernel (SDM vol. 3, "Interrupt and Exception Handling"). A
// record of one that leads to the program itself was made by an instruction that the file does not
// have there. The abort of a transaction is none.
bool is_forged_event(const Branch& branch) {
  return branch.kind == BranchKind::irq && (branch.flags & kInTx) == 0 && branch.to != 0 &&
         branch.to >> 63 == 0;
}

// The place lies behind the first byte of an instruction that is one for certain: there may be data
// among the code, and what that reads as is nothing that the file says.
bool is_inside_insn(const End& end) {
  constexpr std::uint64_t kLongest = 15;
  for (std::uint64_t i = 1; i < kLongest && i <= end.vaddr; ++i) {
    if (!end.module->has(end.vaddr - i, text::kFlow)) continue;
    const auto insn = end.module->insn(end.vaddr - i);
    return insn && insn->length > i;
  }
  return false;
}

Fact file_has(const End& end) {
  return {.what = "file has",
          .address = end.address,
          .text = isa::disassemble(end.module->bytes(end.vaddr), end.address, end.module->mode())};
}

class TextSource final : public EdgeRule {
 public:
  TextSource() : EdgeRule(RuleId::text_source) {}
  std::optional<Verdict> judge(const Edge& edge, Locator&) const override {
    // Code that was changed is another rule's.
    if (!edge.from.known() || edge.from.kept) return std::nullopt;
    const auto insn = edge.from.module->insn(edge.from.vaddr);
    if (is_forged_event(edge.branch) && (!insn || !isa::has_direct_target(insn->cls))) {
      return Verdict{.reason = "the file has no branch there", .facts = {file_has(edge.from)}};
    }
    if (!is_text_branch(edge.branch)) return std::nullopt;
    if (!insn || (!edge.popped_return && !same_kind(insn->cls, edge.branch.kind))) {
      return Verdict{.reason = fmt::format("the file has no {} there", name(edge.branch.kind)),
                     .facts = {file_has(edge.from)}};
    }
    if (edge.from.has(text::kInsn) || !is_inside_insn(edge.from)) return std::nullopt;
    if (may_be_behind_arguments(edge.from)) return std::nullopt;
    return Verdict{.reason = "the branch begins in the middle of an instruction of the file"};
  }
};

class TextTarget final : public EdgeRule {
 public:
  TextTarget() : EdgeRule(RuleId::text_target) {}
  std::optional<Verdict> judge(const Edge& edge, Locator& locator) const override {
    auto verdict = judge_direct(edge, locator);
    return verdict ? verdict : judge_place(edge, locator);
  }

 private:
  static std::optional<Verdict> judge_direct(const Edge& edge, Locator& locator) {
    if (!edge.from.known() || edge.from.kept || edge.to.address == 0) return std::nullopt;
    if (!is_text_branch(edge.branch) && !is_forged_event(edge.branch)) return std::nullopt;
    if ((edge.branch.flags & kNotTaken) != 0) return std::nullopt;
    const auto insn = edge.from.module->insn(edge.from.vaddr);
    if (!insn || !isa::has_direct_target(insn->cls)) return std::nullopt;
    std::uint64_t target = edge.from.address + (insn->target - edge.from.vaddr);
    if (edge.mode == isa::Mode::bits32) target &= 0xffffffff;
    if (target == edge.to.address) return judge_image(edge, locator);
    return Verdict{.reason = fmt::format("its encoding says {:#x}", target),
                   .facts = {{.what = "text says", .address = target}}};
  }

  // Wherever a file is entered: it may have no branch to any that is known.
  static std::optional<Verdict> judge_place(const Edge& edge, Locator& locator) {
    const End& to = edge.to;
    if (!to.known() || to.kept || (edge.branch.flags & kNotTaken) != 0) return std::nullopt;
    if (edge.from.known() && lie_together(edge.from, to)) return std::nullopt;
    const std::string& under = locator.mapped_over(to, edge.space, edge.branch.time);
    if (under.empty()) return std::nullopt;
    const std::string_view name = text::file_name(to.path);
    return Verdict{
        .reason = fmt::format("{} is mapped over {}, which the program depends on", name, under),
        .cause = std::string(to.path)};
  }

  // A distance leads to what was linked with the branch: no other text is there, nor memory with
  // other code in it.
  static std::optional<Verdict> judge_image(const Edge& edge, Locator& locator) {
    const bool memory = edge.to.kind == End::Kind::no_file;
    if (!memory && (!edge.to.known() || lie_together(edge.from, edge.to))) return std::nullopt;
    if (is_as_meant(edge, memory || edge.to.kept, locator)) return std::nullopt;
    if (!memory && is_in_interpreter(edge)) return std::nullopt;
    std::string reason = "memory with other code is where what is meant should be";
    if (!memory) {
      reason = edge.to.module == edge.from.module
                   ? "another part of the file is mapped over what is meant"
                   : fmt::format("{} is mapped over what is meant", text::file_name(edge.to.path));
    }
    return Verdict{.reason = std::move(reason),
                   .facts = {{.what = "text means", .text = meant(edge)}}};
  }

  // By another name of the same file, for one, or a copy in larger pages. `kept`: the recording has
  // the bytes that ran; of none it is not known.
  static bool is_as_meant(const Edge& edge, bool kept, Locator& locator) {
    const auto meant = edge.from.module->bytes(meant_place(edge));
    const auto ran = kept ? locator.bytes(edge.space, edge.to.address, edge.branch.time, kPage)
                          : std::vector<std::uint8_t>();
    if (kept && ran.empty()) return true;
    const auto there =
        kept ? std::span<const std::uint8_t>(ran) : edge.to.module->bytes(edge.to.vaddr);
    const std::size_t size =
        std::min({kPage - edge.to.address % kPage, there.size(), meant.size()});
    return size != 0 && std::ranges::equal(meant.first(size), there.first(size));
  }

  // A program that is linked against its interpreter, as klibc's are: neither moves, and the
  // program itself has nothing there.
  static bool is_in_interpreter(const Edge& edge) {
    const auto stays = [](const End& end) {
      return end.module->elf().type == image::ElfType::exec && end.address == end.vaddr;
    };
    const image::Elf& program = edge.from.module->elf();
    return stays(edge.from) && stays(edge.to) && !program.interpreter.empty() &&
           text::file_name(program.interpreter) == text::file_name(edge.to.path) &&
           edge.from.module->bytes(edge.to.vaddr).empty();
  }

  static std::uint64_t meant_place(const Edge& edge) {
    return edge.to.address - (edge.from.address - edge.from.vaddr);
  }

  // What was linked with the branch there.
  static std::string meant(const Edge& edge) {
    const text::Module& module = *edge.from.module;
    const std::uint64_t vaddr = meant_place(edge);
    const std::string insn = isa::disassemble(module.bytes(vaddr), edge.to.address, module.mode());
    const std::string_view name = module.callee_name(vaddr);
    return name.empty() ? insn : fmt::format("{}: {}", symbol::demangle(name), insn);
  }
};

class TextChanged final : public EdgeRule {
 public:
  TextChanged() : EdgeRule(RuleId::text_changed) {}
  std::optional<Verdict> judge(const Edge& edge, Locator& locator) const override {
    for (const End* end : {&edge.to, &edge.from}) {
      if (!end->known() || !end->kept) continue;
      if (auto verdict = compare(edge, *end, locator)) return verdict;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint64_t kLongestInsn = 15;

  static std::optional<Verdict> compare(const Edge& edge, const End& end, Locator& locator) {
    const TextPart part = part_around(end);
    const std::uint64_t first = end.address - (end.vaddr - part.begin);
    const auto ran = locator.bytes(edge.space, first, edge.branch.time, part.size + kLongestInsn);
    auto file = as_loaded(end, part, ran);
    pass_breakpoints(end, part, ran, file);
    const std::size_t at = first_difference(part, ran, file);
    if (at == kNoDifference) return std::nullopt;
    const isa::Mode mode = end.module->mode();
    const std::size_t start = instruction_around(*end.module, part, ran, at);
    const std::uint64_t address = first + start;
    const auto text = [&](std::span<const std::uint8_t> bytes) {
      return isa::disassemble(bytes.subspan(start), address, mode);
    };
    return changed_text(end, address, text(ran), text(file));
  }

  // What they do is judged where they are met (History).
  static void pass_breakpoints(const End& end, const TextPart& part,
                               std::span<const std::uint8_t> ran, std::span<std::uint8_t> out) {
    for (std::size_t at = 0; at < out.size(); ++at) {
      if (ran[at] == out[at] || ran[at] != kBreakpoint) continue;
      if (end.module->has(part.begin + at, text::kInsn)) out[at] = kBreakpoint;
    }
  }

  // Where the instruction begins that holds the first difference, as far as both texts can be read
  // in step from an instruction of the file before.
  static std::size_t instruction_around(const text::Module& module, const TextPart& part,
                                        std::span<const std::uint8_t> ran, std::size_t at) {
    const auto is_insn = [&](std::size_t place) {
      return module.has(part.begin + place, text::kInsn);
    };
    std::size_t start = at;
    while (start > 0 && !is_insn(start)) --start;
    // An address within an instruction may be written down, by whoever patches it.
    for (std::size_t back = 1; back < kLongestInsn && back <= start; ++back) {
      if (!is_insn(start - back)) continue;
      const auto around = isa::decode(ran.subspan(start - back), 0, module.mode());
      if (around && around->length > at - (start - back)) start -= std::exchange(back, 0);
    }
    while (start < at) {
      const auto insn = isa::decode(ran.subspan(start), 0, module.mode());
      if (!insn || start + insn->length > at) break;
      start += insn->length;
    }
    return start;
  }
};

}  // namespace

Verdict changed_text(const End& end, std::uint64_t address, std::string_view ran,
                     std::string_view file) {
  const text::Function* const function = end.module->function(end.vaddr);
  const std::uint64_t place =
      function == nullptr ? end.vaddr + (address - end.address) : function->begin;
  return {.reason = fmt::format("at {:#x} ran '{}' where the file has '{}'", address, ran, file),
          .cause = fmt::format("{}+{:#x}", end.path, place),
          .facts = {{.what = "file has", .address = address, .text = std::string(file)},
                    {.what = "what ran", .address = address, .text = std::string(ran)}}};
}

std::unique_ptr<EdgeRule> make_text_source() { return std::make_unique<TextSource>(); }
std::unique_ptr<EdgeRule> make_text_target() { return std::make_unique<TextTarget>(); }
std::unique_ptr<EdgeRule> make_text_changed() { return std::make_unique<TextChanged>(); }

}  // namespace hodo::check
