#include "hodo/analyze/call_tree.h"

#include <deque>

#include "call_judging.h"
#include "call_paths.h"
#include "call_spans.h"
#include "call_stack.h"
#include "functions.h"
#include "transfer_parts.h"

namespace hodo::analyze {

struct CallTree::State {
  struct Key {
    std::int32_t pid;
    std::int32_t tid;
    std::uint32_t queue;  // tells threads apart where nothing else does
    auto operator<=>(const Key&) const = default;
  };

  State(const session::Names& names, session::Clock how, std::size_t max_paths)
      : functions(names), paths(max_paths), clock(how) {}

  CallStack& stack_of(const session::Context& who) {
    Key key{who.pid, who.tid, who.tid < 0 ? who.queue : 0};
    auto it = stacks.find(key);
    if (it != stacks.end()) return it->second;
    threads.push_back({.pid = who.pid, .tid = who.tid, .root = paths.add_root()});
    return stacks.try_emplace(key, functions, paths, sites, threads.back()).first->second;
  }

  Functions functions;
  CallJudging judging{functions};
  CallRules rules{functions};
  CallPaths paths;
  ReturnSites sites;
  session::Clock clock;
  std::deque<CallThread> threads;  // a deque: stacks refer to their thread
  std::map<Key, CallStack> stacks;
};

CallTree::CallTree(const session::Names& names, session::Clock clock, std::size_t max_paths)
    : state_(std::make_unique<State>(names, clock, max_paths)) {}
CallTree::~CallTree() = default;

bool CallTree::branches(const session::Context& context, std::span<const Branch> batch) {
  CallStack& stack = state_->stack_of(context);
  for (const Branch& branch : batch) {
    stack.branch(context.space, branch, state_->clock.nanoseconds(branch.time));
  }
  return true;
}

bool CallTree::transfers(const session::Context& context, const flow::Transfers& batch) {
  CallStack& stack = state_->stack_of(context);
  const auto now = [this](std::uint64_t time) { return state_->clock.nanoseconds(time); };
  CallSpans spans(batch, state_->judging);
  each_part(
      batch, [&](const Branch& branch) { stack.branch(context.space, branch, now(branch.time)); },
      [&](std::span<const flow::Transfer> row, std::uint64_t time) {
        stack.transfers(context.space, row, *batch.book, time, now(time), state_->rules, &spans);
      });
  return true;
}

bool CallTree::may_leave_out(const session::Context& context, std::uint64_t line,
                             const Branch& jump) const {
  return state_->functions.one_has(context.space, line, jump);
}

const flow::CallJudge* CallTree::call_judge(const session::Context& context) {
  return state_->judging.judge_of(context.space);
}

std::span<const CallNode> CallTree::nodes() const { return state_->paths.all(); }
std::span<const Function> CallTree::functions() const { return state_->functions.all(); }
std::vector<CallThread> CallTree::threads() const {
  return {state_->threads.begin(), state_->threads.end()};
}

std::vector<CallTree::Totals> CallTree::inclusive() const {
  std::span<const CallNode> all = nodes();
  std::vector<Totals> sums(all.size());
  for (std::size_t i = all.size(); i-- > 0;) {  // children before their parents
    sums[i].instructions += all[i].instructions;
    sums[i].time += all[i].time;
    if (all[i].parent == CallNode::kNone) continue;
    sums[all[i].parent].instructions += sums[i].instructions;
    sums[all[i].parent].time += sums[i].time;
  }
  return sums;
}

}  // namespace hodo::analyze
