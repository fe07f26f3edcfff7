#include "edge_judge.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "pointer.h"

namespace hodo::check {

EdgeJudge::EdgeJudge(const Options& options, Locator& locator, const Pasts& pasts, Reports& reports)
    : locator_(locator),
      pasts_(pasts),
      reports_(reports),
      jit_(options.jit),
      uses_baseline_(options.baseline != nullptr || options.learn != nullptr),
      learn_(options.learn),
      rules_(make_edge_rules(options)) {}

namespace {

// The rules look at returns for what the file has at either end, if nothing marks one of them.
bool hangs_on_ends_alone(const Edge& edge) {
  return edge.branch.kind == BranchKind::ret && edge.branch.flags == 0 &&
         edge.from.is_as_its_file() && edge.to.is_as_its_file() &&
         (edge.facts & ~kToOtherFile) == kToReturnSite;
}

// Of a retpoline, what a branch is by itself is judged where its instructions are.
bool is_of_pointers(RuleId id) {
  return id == RuleId::call_function || id == RuleId::call_sensitive ||
         id == RuleId::plt_redirected || id == RuleId::baseline_new;
}

}  // namespace

void EdgeJudge::judge(const session::Context& context, const Branch& branch, KnownEdge& known) {
  const Edge edge = locator_.locate(context.space, branch);
  known.next = edge.next;
  known.facts = edge.facts;
  known.returns = edge.popped_return;
  known.far = edge.far;
  known.at_breakpoint = edge.at_breakpoint;
  known.from_probes = edge.from.in_probes();
  known.to_probes = edge.to.in_probes();
  known.to_probed_return = edge.to.is_probed_return();
  Branch shown = branch;
  shown.from = edge.branch.from;
  known.findings = 0;
  if (edge.plain && !uses_baseline_) return;
  if (hangs_on_ends_alone(edge)) known.facts |= kEndsApart;
  for (const End* end : {&edge.from, &edge.to}) {
    if (end->outside() && is_generated(*end, context.space, branch.time, locator_, jit_)) {
      known.facts |= kUnjudged;  // generators change return addresses and jump as they like
    }
  }
  // Such as to where an exception is handled.
  const bool jumps_back = branch.kind == BranchKind::ijmp && edge.from.outside() &&
                          edge.to.known() && (edge.facts & kToFunction) == 0;
  if (jumps_back && (known.facts & kUnjudged) != 0) known.facts |= kFromSwitch;
  if (!edge.retpoline) note_unjudged(edge);
  if (uses_baseline_) learn(context, edge);
  std::vector<std::size_t> list;
  for (const auto& rule : rules_) {
    if (edge.retpoline && !is_of_pointers(rule->id())) continue;
    auto verdict = rule->judge(edge, locator_);
    if (!verdict) continue;
    const bool explained = !verdict->awaits_maker && verdict->grade == Grade::explained;
    if (explained || verdict->awaits_maker) keep_late(*rule, context, edge, explained);
    if (verdict->awaits_maker) continue;
    if (verdict->facts.empty()) verdict->facts = pointer_facts(edge);
    list.push_back(reports_.note(context, shown, rule->id(), std::move(*verdict)));
  }
  if (list.empty()) return;
  known.findings = static_cast<std::uint32_t>(lists_.size());
  lists_.push_back(std::move(list));
}

void EdgeJudge::keep_late(const EdgeRule& rule, const session::Context& context, const Edge& edge,
                          bool explained) {
  const bool to = locator_.awaits_maker(edge.to);
  const End& end = to ? edge.to : edge.from;
  if (!locator_.awaits_maker(end)) return;
  const Made made(pasts_.life(context.space), *end.grant);
  const Awaits what = explained ? Awaits::explained : to ? Awaits::to : Awaits::from;
  // What it does to a file hangs on where it leads, its system calls on where they are.
  const bool leads_on = !to && edge.to.known();
  const LateKey key(made, what, explained ? 0 : leads_on ? edge.to.address : end.address);
  if (late_.contains(key)) return;
  const auto same = late_.lower_bound({made, what, 0});
  const bool first = same == late_.end() || std::get<Made>(same->first) != made ||
                     std::get<Awaits>(same->first) != what;
  // The first of each code stays, so that all that waits is known of when its maker is.
  if (!first && late_.size() >= kMostLate) {
    ++left_out_[made];
    return;
  }
  late_.try_emplace(key, Late{&rule, context, edge.branch});
}

void EdgeJudge::judge_late(bool last) {
  locator_.settle(last);
  std::erase_if(late_, [this](const auto& one) { return judge_late(one.first, one.second); });
  locator_.settle(false);
}

// False: it has to wait on.
bool EdgeJudge::judge_late(const LateKey& key, const Late& late) {
  const Edge edge = locator_.locate(late.context.space, late.branch);
  if (locator_.awaits_maker(edge.to) || locator_.awaits_maker(edge.from)) return false;
  auto verdict = late.rule->judge(edge, locator_);
  const bool said =
      std::get<Awaits>(key) == Awaits::explained && verdict && verdict->grade == Grade::explained;
  if (verdict && !said) {
    reports_.add_late(late.context, late.branch, late.rule->id(), std::move(*verdict));
  }
  const auto left_out = left_out_.extract(std::get<Made>(key));
  if (!left_out.empty()) {
    const End& end = std::get<Awaits>(key) == Awaits::from ? edge.from : edge.to;
    not_compared_.add(locator_.maker(end), left_out.mapped());
  }
  return true;
}

bool EdgeJudge::has_finding(const KnownEdge& known, RuleId id) const {
  return std::ranges::any_of(
      findings(known), [&](std::size_t index) { return reports_.at(index).rule == &rule(id); });
}

void EdgeJudge::note_unjudged(const Edge& edge) {
  for (const End* end : {&edge.from, &edge.to}) {
    if (end->kind == End::Kind::unread) unread_.add(end->path);
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

void EdgeJudge::Counts::begin_again() {
  before_ = all();
  now_.clear();
}

std::map<std::string, std::uint64_t> EdgeJudge::Counts::all() const {
  std::map<std::string, std::uint64_t> out = before_;
  for (const auto& [path, count] : now_) out[path] = std::max(out[path], count);
  return out;
}

void EdgeJudge::begin_again() {
  unread_.begin_again();
  not_compared_.begin_again();
  for (auto one = late_.begin(); one != late_.end();) {
    const auto space = pasts_.space(std::get<Made>(one->first).first);
    if (!space) not_compared_.add({});
    if (space) one->second.context.space = *space;
    one = space ? std::next(one) : late_.erase(one);
  }
}

std::vector<Unjudged> EdgeJudge::unjudged() const {
  std::vector<Unjudged> out;
  for (const auto& [path, count] : unread_.all()) {
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
  for (const auto& [path, count] : not_compared_.all()) {
    out.push_back({path.empty() ? "//anon" : path,
                   "too much code ran before it was known who made it: whether it is a copy of the"
                   " file's data was not looked at everywhere",
                   count});
  }
  for (const auto& [path, count] : without_id_) {
    out.push_back({path, "the file has no build-id, by which a baseline knows files", count});
  }
  return out;
}

}  // namespace hodo::check
