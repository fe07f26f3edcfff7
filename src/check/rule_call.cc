// call.target, call.sensitive: where indirect calls and jumps lead.
#include <fmt/format.h>

#include "behind_data.h"
#include "edge_rules.h"
#include "pointer.h"
#include "sensitive.h"

namespace hodo::check {
namespace {

// A function whose address the file itself writes down, for its own or the dynamic linker's use, or
// has others ask for by a name: where that has no ENDBR, what the file says of CET does not hold
// for it (-z force-ibt, or crti.o's without).
bool is_given_away(const End& end) {
  return end.has(text::kStart) && (end.has(text::kTaken) || end.module->is_exported(end.vaddr));
}

// The kernel's page (vDSO) is whole in itself: it is entered by calls and left by returns and
// system calls only. Its text is in no file, but where its branches led is known.
bool leaves_kernel_page(const Edge& edge) {
  const BranchKind kind = edge.branch.kind;
  return edge.from.kind == End::Kind::vdso && edge.from.path == "[vdso]" &&
         edge.to.kind != End::Kind::vdso && edge.to.kind != End::Kind::absent &&
         kind < BranchKind::ret;
}

class CallTarget final : public EdgeRule {
 public:
  CallTarget() : EdgeRule(RuleId::call_target) {}

  std::optional<Verdict> judge(const Edge& edge, Locator&) const override {
    if (leaves_kernel_page(edge)) {
      return Verdict{.reason =
                         "leaves the kernel's page, which calls and jumps to nothing outside"};
    }
    const bool jump = edge.branch.kind == BranchKind::ijmp;
    if (!jump && edge.branch.kind != BranchKind::icall) return std::nullopt;
    if (!edge.to.known() || edge.from.kept || edge.to.kept) return std::nullopt;
    // Jumps that change the stack are the return model's.
    if (jump && (edge.facts & kFromSwitch) != 0) return std::nullopt;
    const text::Module& module = *edge.to.module;
    // Before a lazy slot is filled it leads back to its stub, behind the jump, as the file says.
    if (edge.from.has(text::kPlt) && edge.to.has(text::kPlt) && edge.to.address == edge.next) {
      return std::nullopt;
    }
    const text::Slot* const slot = slot_called(edge);
    if (slot != nullptr && edge.from.module == edge.to.module && slot->initial == edge.to.vaddr) {
      return std::nullopt;
    }
    const bool entry = (edge.facts & kToFunction) != 0;
    if (module.has_ibt() && !jump && !edge.to.has(text::kEndbr) && !is_given_away(edge.to)) {
      return Verdict{.reason = "calls a place that has no ENDBR, in a file made for CET"};
    }
    if (entry) return std::nullopt;
    // Neither symbols nor unwind tables cover it: code made by other means than a compiler's, as
    // V8's builtins, of which the file does not say where functions begin.
    if (module.function(edge.to.vaddr) == nullptr && edge.to.has(text::kInsn)) return std::nullopt;
    if (!jump && goes_on_behind_own_return(edge)) return std::nullopt;
    if (is_by_written_address(edge)) return std::nullopt;
    if (!jump) return Verdict{.reason = "calls a place where no function begins"};
    if ((edge.facts & kToArguments) != 0 || is_far_behind_start(edge)) return std::nullopt;
    const bool inside =
        edge.from.module == edge.to.module && module.same_function(edge.from.vaddr, edge.to.vaddr);
    // A computed goto. Tables of labels are their own function's; what an instruction names may be
    // put where other functions jump by it.
    const bool label = (edge.facts & kToLabel) != 0 && (inside || edge.to.has(text::kNamed));
    if (label) return std::nullopt;
    if (inside && edge.to.has(text::kTableTarget | text::kLeader)) return std::nullopt;
    // Which labels a table has that the program makes, no file says.
    if (inside && edge.to.has(text::kInsn) && is_by_runtime_table(edge)) return std::nullopt;
    return Verdict{.reason = inside ? "jumps within a function to where no branch of its text leads"
                                    : "jumps to a place where no function begins"};
  }
};

class CallSensitive final : public EdgeRule {
 public:
  CallSensitive(const Baseline* baseline, Jit jit)
      : EdgeRule(RuleId::call_sensitive), baseline_(baseline), jit_(jit) {}

  std::optional<Verdict> judge(const Edge& edge, Locator& locator) const override {
    const std::string_view function = reached_through_pointer(edge);
    if (function.empty() || was_learned(edge)) return std::nullopt;
    // Code that was made at run time has no slots: it calls all by addresses that it was given.
    const bool generated =
        edge.from.outside() &&
        !known_generator(edge.from, edge.space, edge.branch.time, locator, jit_).empty();
    const bool explained = generated && jit_ != Jit::report;
    return Verdict{.grade = explained ? Grade::explained : Grade::unusual,
                   .reason = fmt::format("reaches {} through a pointer", function)};
  }

 private:
  bool was_learned(const Edge& edge) const {
    if (baseline_ == nullptr) return false;
    const auto taken = baseline_edge(edge);
    return taken && baseline_->contains(*taken);
  }

  const Baseline* baseline_;
  Jit jit_;
};

}  // namespace

std::unique_ptr<EdgeRule> make_call_target() { return std::make_unique<CallTarget>(); }
std::unique_ptr<EdgeRule> make_call_sensitive(const Baseline* baseline, Jit jit) {
  return std::make_unique<CallSensitive>(baseline, jit);
}

}  // namespace hodo::check
