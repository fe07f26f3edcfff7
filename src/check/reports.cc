#include "reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "hodo/isa/disasm.h"
#include "hodo/isa/insn.h"

namespace hodo::check {
namespace {

// What led to the branch. A thread pauses where code has changed, so that the one that led into it
// comes before the pause, at whose end or beginning the change is seen.
void begin_context(const Step& step, Finding& finding) {
  finding.before = step.recent();
  std::span<const Branch> before = finding.before;
  Branch pause = finding.branch;
  if (pause.kind == BranchKind::begin && !before.empty() && before.back().from == pause.to) {
    pause = before.back();
    before = before.first(before.size() - 1);
  }
  if (pause.kind != BranchKind::end || before.empty()) return;
  if (before.back().to != pause.from || !is_near_transfer(before.back().kind)) return;
  finding.branch = before.back();
  finding.before.resize(before.size() - 1);
}

// The instruction at the beginning of the bytes; its length, 0 where they are none.
std::size_t add_line(std::span<const std::uint8_t> code, std::uint64_t address, isa::Mode mode,
                     std::vector<CodeLine>& out) {
  const auto insn = isa::decode(code, address, mode);
  if (!insn) return 0;
  out.push_back({address, isa::disassemble(code, address, mode)});
  return insn->length;
}

// From where the branch before led to, in a straight line.
std::vector<CodeLine> code_before(const Finding& finding, isa::Mode mode, Locator& locator) {
  constexpr std::uint64_t kFurthest = 512;
  constexpr std::size_t kLongestInsn = 15;
  const Branch& branch = finding.branch;
  const std::uint64_t first = finding.before.empty() ? branch.from : finding.before.back().to;
  const bool straight = first <= branch.from && branch.from - first <= kFurthest;
  const std::uint64_t start = straight ? first : branch.from;
  const auto bytes =
      locator.bytes(finding.who.space, start, branch.time, branch.from - start + kLongestInsn);
  std::span<const std::uint8_t> rest(bytes);
  std::vector<CodeLine> out;
  for (std::uint64_t at = start; at <= branch.from;) {
    const std::size_t length = add_line(rest, at, mode, out);
    if (length == 0) break;
    if (out.size() > Finding::kCode) out.erase(out.begin());
    at += length;
    rest = rest.subspan(length);
  }
  // What ran jumped to the middle of what the bytes read as from there.
  if (!out.empty() && out.back().address != branch.from) out.clear();
  return out;
}

std::vector<CodeLine> code_behind(const Finding& finding, isa::Mode mode, Locator& locator) {
  constexpr std::size_t kLongestLine = 15 * Finding::kCode;
  std::vector<CodeLine> out;
  std::uint64_t at = finding.branch.to;
  const auto bytes = locator.bytes(finding.who.space, at, finding.branch.time, kLongestLine);
  std::span<const std::uint8_t> rest(bytes);
  while (out.size() < Finding::kCode) {
    const auto insn = isa::decode(rest, at, mode);
    const std::size_t length = add_line(rest, at, mode, out);
    if (length == 0 || isa::is_branch(insn->cls)) break;
    at += length;
    rest = rest.subspan(length);
  }
  return out;
}

void add_code(Finding& finding, Locator& locator) {
  const isa::Mode mode = locator.mode(finding.who.space, finding.branch.time);
  if (finding.branch.from != 0) finding.code_from = code_before(finding, mode, locator);
  if (finding.branch.to != 0) finding.code_to = code_behind(finding, mode, locator);
}

}  // namespace

// The same place in the same files is the same cause in all processes.
std::string Reports::cause_of(std::uint32_t space, const Branch& branch) {
  const auto place = [&](std::uint64_t address) {
    const End end = locator_.end(space, address, branch.time);
    return end.known() ? fmt::format("{}+{:#x}", end.path, end.vaddr)
                       : fmt::format("{}:{:#x}", space, address);
  };
  return place(branch.from) + " " + place(branch.to);
}

std::size_t Reports::note(const session::Context& context, const Branch& branch, RuleId id,
                          Verdict verdict) {
  if (verdict.cause.empty()) verdict.cause = cause_of(context.space, branch);
  std::string library = std::move(verdict.library);
  const std::size_t index = found_.add(id, std::move(verdict), context, branch);
  if (!library.empty()) libraries_.try_emplace(index, std::move(library));
  --found_.at(index).count;  // this execution is counted with the others
  return index;
}

void Reports::add(const Step& step, RuleId id, Verdict verdict) {
  count(step, note(step.context, step.branch, id, std::move(verdict)));
}

void Reports::add_late(const session::Context& context, const Branch& branch, RuleId id,
                       Verdict verdict) {
  const std::size_t index = note(context, branch, id, std::move(verdict));
  found_.count(index);
  Finding& finding = found_.at(index);
  if (finding.attack != 0) return;
  finding.attack = finding.order + 1;
  add_code(finding, locator_);
}

void Reports::count(const Step& step, std::size_t index) {
  found_.count(index);
  Finding& finding = found_.at(index);
  if (step.thread.doubt.add(step.position(), index)) doubt(finding);
  if (finding.count == 1) {
    begin(step, index);
    step.thread.open.push_back(index);
  }
  // What is explained is no part of an attack, and what a baseline does not hold need not be.
  if (finding.grade == Grade::explained || finding.rule == &rule(RuleId::baseline_new)) return;
  step.thread.attack = {.number = finding.attack, .position = step.position()};
}

// The first time that it happened.
void Reports::begin(const Step& step, std::size_t index) {
  Finding& finding = found_.at(index);
  begin_context(step, finding);
  add_code(finding, locator_);
  const auto library = libraries_.find(index);
  const auto known =
      library == libraries_.end() ? by_library_.end() : by_library_.find(library->second);
  if (finding.attack == 0 && known != by_library_.end()) finding.attack = known->second;
  if (finding.attack == 0 && finding.grade != Grade::explained) join_attack(step, finding);
  if (finding.attack == 0) finding.attack = finding.order + 1;
  if (library != libraries_.end()) by_library_.try_emplace(library->second, finding.attack);
}

// What goes wrong right behind something else is a step of the same attack.
void Reports::join_attack(const Step& step, Finding& finding) const {
  const Attack& attack = step.thread.attack;
  if (attack.number == 0) return;
  const bool learned = finding.rule == &rule(RuleId::baseline_new);
  const std::uint64_t reach = learned ? 0 : Attack::kReach;
  if (step.position() - attack.position <= reach) finding.attack = attack.number;
}

// One that was made of the finding lies at the newest loss.
void Reports::doubt(Finding& finding) const {
  ++finding.doubtful;
  if (finding.newest_loss == losses_) return;
  finding.newest_loss = losses_;
  ++finding.losses;
}

void Reports::see(const Step& step) {
  if (step.branch.kind == BranchKind::lost) ++losses_;
  step.thread.doubt.see(step.position(), step.branch,
                        [&](std::size_t index) { doubt(found_.at(index)); });
}

void Reports::collect_after(Thread& thread, const Branch& branch) {
  std::erase_if(thread.open, [&](std::size_t index) {
    auto& after = found_.at(index).after;
    if (after.size() < Finding::kAfter) after.push_back(branch);
    return after.size() >= Finding::kAfter;
  });
}

std::vector<Finding> Reports::sorted() const {
  std::vector<Finding> out = found_.all();
  std::ranges::stable_sort(out, is_before);
  return out;
}

}  // namespace hodo::check
