#include "hodo/analyze/open_calls.h"

#include <algorithm>

#include "call_judging.h"
#include "call_paths.h"
#include "call_stack.h"
#include "functions.h"
#include "transfer_parts.h"

namespace hodo::analyze {

struct Following::State {
  State(const session::Names& names, session::Clock how) : functions(names), clock(how) {}

  Functions functions;
  CallJudging judging{functions};
  CallRules rules{functions};
  CallPaths paths{0};  // nobody asks for sums: all is one path
  ReturnSites sites;
  session::Clock clock;
};

Following::Following(const session::Names& names, session::Clock clock)
    : state_(std::make_unique<State>(names, clock)) {}
Following::~Following() = default;

std::span<const Function> Following::functions() const { return state_->functions.all(); }

struct OpenCalls::State {
  State(Following::State& shared, CallWatcher* watcher)
      : following(shared), stack(shared.functions, shared.paths, shared.sites, thread, watcher) {}

  Following::State& following;
  CallThread thread{.root = CallPaths::kOther};
  CallStack stack;
};

OpenCalls::OpenCalls(Following& following, CallWatcher* watcher)
    : state_(std::make_unique<State>(*following.state_, watcher)) {}
OpenCalls::~OpenCalls() = default;
OpenCalls::OpenCalls(OpenCalls&&) noexcept = default;

void OpenCalls::branches(std::uint32_t space, std::span<const Branch> batch) {
  CallStack& stack = state_->stack;
  session::Clock& clock = state_->following.clock;
  for (const Branch& branch : batch) stack.branch(space, branch, clock.nanoseconds(branch.time));
}

void OpenCalls::transfers(std::uint32_t space, const flow::Transfers& batch) {
  CallStack& stack = state_->stack;
  session::Clock& clock = state_->following.clock;
  CallSpans spans(batch, state_->following.judging);
  each_part(
      batch,
      [&](const Branch& branch) { stack.branch(space, branch, clock.nanoseconds(branch.time)); },
      [&](std::span<const flow::Transfer> row, std::uint64_t time) {
        stack.transfers(space, row, *batch.book, time, clock.nanoseconds(time),
                        state_->following.rules, &spans);
      });
}

std::vector<OpenCall> OpenCalls::open() const {
  const std::span<const OpenCall> calls = state_->stack.calls();
  return {calls.begin(), calls.end()};
}

bool Following::is_within(std::uint32_t space, std::uint64_t line, const Branch& jump) const {
  return state_->functions.one_has(space, line, jump);
}

const flow::CallJudge* Following::call_judge(std::uint32_t space) {
  return state_->judging.judge_of(space);
}

SavedCall Following::passed_call(std::uint32_t callee) const {
  const CallJudging::Callee where = state_->judging.callee(callee);
  return {.entry = where.entry,
          .since = {.ticks = where.ticks},
          .how = where.by_call ? CallEntry::called : CallEntry::jumped,
          .by_call = where.by_call};
}

void Following::tell_single_calls() { state_->judging.tell_singles(); }
void Following::tell_no_more(std::uint32_t callee) { state_->judging.tell_no_more(callee); }

std::span<std::uint64_t> Following::return_sites() { return state_->sites.slots(); }
std::vector<std::uint32_t> Following::changed_return_sites() const {
  const auto changes = state_->sites.changes();
  std::vector<std::uint32_t> out(changes.begin(), changes.end());
  std::ranges::sort(out);
  return out;
}
void Following::settle_return_sites() { state_->sites.settle(); }

std::uint32_t Following::function_of(std::uint32_t space, const SavedCall& call) {
  return located(state_->functions, space, call).function;
}

SavedCalls OpenCalls::save() const { return state_->stack.save(); }
void OpenCalls::restore(const SavedCalls& saved) { state_->stack.restore(saved); }

const CallClock& OpenCalls::clock() const { return state_->stack.clock(); }

}  // namespace hodo::analyze
