#include "reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

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
  const std::size_t index = found_.add(id, verdict.grade, std::move(verdict.cause),
                                       std::move(verdict.reason), context, branch);
  --found_.at(index).count;  // this execution is counted with the others
  return index;
}

void Reports::add(const Step& step, RuleId id, Verdict verdict) {
  count(step, note(step.context, step.branch, id, std::move(verdict)));
}

void Reports::count(const Step& step, std::size_t index) {
  found_.count(index);
  Finding& finding = found_.at(index);
  if (step.thread.doubt.add(step.position(), index)) doubt(finding);
  if (finding.count != 1) return;
  begin_context(step, finding);
  step.thread.open.push_back(index);
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
  std::ranges::stable_sort(out, [](const Finding& a, const Finding& b) {
    if (a.is_doubtful() != b.is_doubtful()) return b.is_doubtful();
    return a.grade != b.grade ? a.grade < b.grade : a.branch.time < b.branch.time;
  });
  return out;
}

}  // namespace hodo::check
