#include "hodo/analyze/call_slices.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "hodo/analyze/open_calls.h"

namespace hodo::analyze {

struct CallSlices::State final : CallWatcher {
  State(const session::Names& n, session::Clock c, SliceAxis a, std::size_t d, SliceSink& s)
      : axis(a), depth(d), sink(s), following(n, c) {}

  void begin(const session::Context& who) {
    end();
    thread = who;
    calls.emplace(following, this);
    at = 0;
    before = 0;
    more = sink.thread(who);
  }

  void end() {
    while (!open.empty()) pop(at);
    calls.reset();
  }

  void branch(const session::Context& who, const Branch& branch) {
    before = at;
    losing = branch.kind == BranchKind::lost;
    calls->branch(who.space, branch);
    // What was open ended before the gap, what the path goes on in begins behind it.
    if (losing) tell_gap(calls->clock());
    move_to(calls->clock());
  }

  void move_to(const CallClock& now) {
    at = std::max(at, axis == SliceAxis::time ? now.time : now.instructions);
    timed |= now.time != 0;
  }

  // CallWatcher.
  void opened(const OpenCall& call, std::size_t) override {
    if (losing) tell_gap(call.since);
    move_to(call.since);
    push(call.stub ? std::nullopt : std::optional(call.function));
  }
  void became(const OpenCall& call, std::size_t level) override {
    if (level + 1 != open.size()) return;
    move_to(call.since);
    pop(at);
    push(call.function);
  }
  void closed(const OpenCall&, CallEnd, const CallClock& now) override {
    if (!losing) move_to(now);
    pop(losing ? before : at);
  }

  void tell_gap(const CallClock& now) {
    losing = false;
    move_to(now);
    if (before == 0) before = at;
    const Function lost{.name = "[lost]"};
    more = more && sink.open(kLostNumber, lost, before) && sink.close(kLostNumber, at);
  }
  void push(std::optional<std::uint32_t> function) {
    if (open.size() >= depth) function.reset();
    open.push_back(function);
    if (function) more = more && sink.open(*function, following.functions()[*function], at);
  }
  void pop(std::uint64_t when) {
    const std::optional<std::uint32_t> function = open.back();
    open.pop_back();
    if (function) more = more && sink.close(*function, when);
  }

  static constexpr std::uint32_t kLostNumber = ~std::uint32_t{0};

  SliceAxis axis;
  std::size_t depth;
  SliceSink& sink;
  Following following;
  std::optional<session::Context> thread;
  std::optional<OpenCalls> calls;
  std::vector<std::optional<std::uint32_t>> open;  // none: a stub, or too deep
  std::uint64_t at = 0;
  std::uint64_t before = 0;  // the branch that is handled
  bool losing = false;
  bool more = true;
  bool timed = false;
};

CallSlices::CallSlices(const session::Names& names, session::Clock clock, SliceAxis axis,
                       std::size_t depth, SliceSink& sink)
    : state_(std::make_unique<State>(names, clock, axis, depth, sink)) {}
CallSlices::~CallSlices() = default;

bool CallSlices::branches(const session::Context& context, std::span<const Branch> batch) {
  const bool same = state_->thread && state_->thread->tid == context.tid &&
                    state_->thread->pid == context.pid && state_->thread->queue == context.queue;
  if (!same) state_->begin(context);
  for (const Branch& branch : batch) state_->branch(context, branch);
  return state_->more;
}

void CallSlices::finish() { state_->end(); }

bool CallSlices::timeless() const {
  return state_->axis == SliceAxis::time && state_->thread && !state_->timed;
}

}  // namespace hodo::analyze
