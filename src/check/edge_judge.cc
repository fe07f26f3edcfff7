#include "edge_judge.h"

#include <algorithm>
#include <utility>

#include "pointer.h"

namespace hodo::check {

EdgeJudge::EdgeJudge(const Options& options, Locator& locator, Reports& reports)
    : locator_(locator),
      reports_(reports),
      jit_(options.jit),
      uses_baseline_(options.baseline != nullptr || options.learn != nullptr),
      learn_(options.learn),
      rules_(make_edge_rules(options)) {}

void EdgeJudge::judge(const session::Context& context, const Branch& branch, KnownEdge& known) {
  const Edge edge = locator_.locate(context.space, branch);
  known.next = edge.next;
  known.facts = edge.facts;
  known.findings = 0;
  for (const End* end : {&edge.from, &edge.to}) {
    if (end->outside() && is_generated(*end, context.space, branch.time, locator_, jit_)) {
      known.facts |= kUnjudged;  // generators change return addresses and jump as they like
    }
  }
  // Such as to where an exception is handled.
  const bool jumps_back = branch.kind == BranchKind::ijmp && edge.from.outside() &&
                          edge.to.known() && (edge.facts & kToFunction) == 0;
  if (jumps_back && (known.facts & kUnjudged) != 0) known.facts |= kFromSwitch;
  note_unjudged(edge);
  if (uses_baseline_) learn(context, edge);
  std::vector<std::size_t> list;
  for (const auto& rule : rules_) {
    auto verdict = rule->judge(edge, locator_);
    if (!verdict) continue;
    const bool explained = !verdict->awaits_maker && verdict->grade == Grade::explained;
    if (explained || verdict->awaits_maker) keep_late(*rule, context, edge, explained);
    if (verdict->awaits_maker) continue;
    if (verdict->facts.empty()) verdict->facts = pointer_facts(edge);
    list.push_back(reports_.note(context, branch, rule->id(), std::move(*verdict)));
  }
  if (list.empty()) return;
  known.findings = static_cast<std::uint32_t>(lists_.size());
  lists_.push_back(std::move(list));
}

void EdgeJudge::keep_late(const EdgeRule& rule, const session::Context& context, const Edge& edge,
                          bool explained) {
  constexpr std::size_t kMost = std::size_t{1} << 16;
  const End& end = locator_.awaits_maker(edge.to) ? edge.to : edge.from;
  if (!locator_.awaits_maker(end) || late_.size() >= kMost) return;
  // What is explained for now is one finding, whichever branch it is.
  const std::uint64_t from = explained ? 0 : edge.branch.from;
  const std::uint64_t to = explained ? 0 : edge.branch.to;
  late_.try_emplace({context.space, *end.grant, from, to},
                    Late{&rule, context, edge.branch, explained});
}

void EdgeJudge::judge_late(bool last) {
  locator_.settle(last);
  std::erase_if(late_, [this](const auto& one) {
    const Late& late = one.second;
    const Edge edge = locator_.locate(late.context.space, late.branch);
    if (locator_.awaits_maker(edge.to) || locator_.awaits_maker(edge.from)) return false;
    auto verdict = late.rule->judge(edge, locator_);
    const bool said = late.explained && verdict && verdict->grade == Grade::explained;
    if (verdict && !said) {
      reports_.add_late(late.context, late.branch, late.rule->id(), std::move(*verdict));
    }
    return true;
  });
  locator_.settle(false);
}

bool EdgeJudge::has_finding(const KnownEdge& known, RuleId id) const {
  return std::ranges::any_of(
      findings(known), [&](std::size_t index) { return reports_.at(index).rule == &rule(id); });
}

void EdgeJudge::note_unjudged(const Edge& edge) {
  for (const End* end : {&edge.from, &edge.to}) {
    if (end->kind == End::Kind::unread) ++unread_[std::string(end->path)];
  }
}

void EdgeJudge::learn(const session::Context& context, const Edge& edge) {
  const auto known = baseline_edge(edge);
  if (!known) return;
  for (const End* end : {&edge.from, &edge.to}) {
    if (end->module->elf().build_id.empty()) ++without_id_[std::string(end->path)];
  }
  if (learn_ == nullptr || !learn_->add(*known)) return;
  if (learned_.size() < Checker::kMostLearned) learned_.push_back({context, edge.branch});
}

// Those that are met again are counted again.
void EdgeJudge::begin_again() {
  late_.clear();  // they are judged again
  for (const auto& [path, count] : std::exchange(unread_, {})) {
    std::uint64_t& most = unread_before_[path];
    most = std::max(most, count);
  }
}

std::vector<Unjudged> EdgeJudge::unjudged() const {
  std::vector<Unjudged> out;
  std::map<std::string, std::uint64_t> all = unread_before_;
  for (const auto& [path, count] : unread_) all[path] = std::max(all[path], count);
  for (const auto& [path, count] : all) {
    Unjudged line{.path = path,
                  .reason =
                      "the file is missing or has changed; --symfs DIR says where those of a"
                      " guest or of another machine are",
                  .branches = count};
    for (const Unread& unread : locator_.modules().unread()) {
      if (unread.path == path) line.reason = unread.reason;
    }
    out.push_back(std::move(line));
  }
  for (const auto& [path, count] : without_id_) {
    out.push_back({path, "the file has no build-id, by which a baseline knows files", count});
  }
  return out;
}

}  // namespace hodo::check
