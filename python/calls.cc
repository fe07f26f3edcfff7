// Every call of a recording as a row.
#include "hodo/ask/calls.h"

#include <map>

#include "errors.h"
#include "hodo/analyze/open_calls.h"
#include "hodo/ask/walk.h"
#include "hodo/serve/asking.h"
#include "hodo/view/text.h"
#include "recording.h"

namespace hodo::python {

// Written by the thread that decodes, read by others.
class Functions {
 public:
  void learn(std::span<const analyze::Function> known) {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = all_.size(); i < known.size(); ++i) {
      all_.push_back({view::utf8(known[i].name), view::utf8(known[i].object)});
    }
  }
  std::vector<FunctionName> all() const {
    const std::scoped_lock lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<FunctionName> all_;
};

namespace {

class CallFeeder;

// One thread's calls.
class ThreadWatcher final : public analyze::CallWatcher {
 public:
  ThreadWatcher(CallFeeder& feeder, const ask::ThreadId& thread)
      : feeder_(feeder), thread_(thread) {}

  void opened(const analyze::OpenCall& call, std::size_t) override {
    stack_.push_back({call.stub, call.function});
  }
  void became(const analyze::OpenCall& call, std::size_t depth) override {
    stack_[depth] = {false, call.function};
  }
  void closed(const analyze::OpenCall& call, analyze::CallEnd how,
              const analyze::CallClock& now) override;
  // The path ends.
  void end(std::span<const analyze::OpenCall> open, const analyze::CallClock& now);

  session::Context who;

 private:
  struct Open {
    bool stub = false;
    std::uint32_t function = 0;
  };
  void add(const analyze::OpenCall& call, ask::CallRow::Outcome outcome,
           const analyze::CallClock& now);

  CallFeeder& feeder_;
  ask::ThreadId thread_;
  std::vector<Open> stack_;
};

class CallFeeder final : public ask::ThreadSink {
 public:
  CallFeeder(session::Session& session, Feed<CallEntry>& feed, Functions& functions)
      : feed_(feed), functions_(functions), following_(session.names(), session.clock()) {}

  bool branches(const session::Context& who, std::uint64_t,
                std::span<const Branch> batch) override {
    const ask::ThreadId id = ask::thread_of(who);
    auto it = threads_.find(id);
    if (it == threads_.end()) {
      it = threads_.try_emplace(id).first;
      it->second.watcher = std::make_unique<ThreadWatcher>(*this, id);
      it->second.calls = std::make_unique<analyze::OpenCalls>(following_, it->second.watcher.get());
    }
    it->second.watcher->who = who;
    it->second.calls->branches(who.space, batch);
    functions_.learn(following_.functions());
    return more_;
  }
  void end() {
    for (auto& [id, thread] : threads_) {
      thread.watcher->end(thread.calls->open(), thread.calls->clock());
    }
  }
  void add(const CallEntry& row) {
    // So that whoever has a row can name it.
    functions_.learn(following_.functions());
    more_ = more_ && feed_.add(row);
  }

 private:
  struct Thread {
    std::unique_ptr<ThreadWatcher> watcher;
    std::unique_ptr<analyze::OpenCalls> calls;
  };

  Feed<CallEntry>& feed_;
  Functions& functions_;
  analyze::Following following_;
  std::map<ask::ThreadId, Thread> threads_;
  bool more_ = true;
};

void ThreadWatcher::closed(const analyze::OpenCall& call, analyze::CallEnd how,
                           const analyze::CallClock& now) {
  add(call, static_cast<ask::CallRow::Outcome>(how), now);
}

void ThreadWatcher::end(std::span<const analyze::OpenCall> open, const analyze::CallClock& now) {
  for (std::size_t i = open.size(); i-- > 0;) add(open[i], ask::CallRow::Outcome::open, now);
}

void ThreadWatcher::add(const analyze::OpenCall& call, ask::CallRow::Outcome outcome,
                        const analyze::CallClock& now) {
  stack_.pop_back();
  const bool unknown = call.how == analyze::CallEntry::first && call.entry == 0;
  if (call.stub || unknown) return;
  std::uint32_t caller = ask::kNobody;
  for (std::size_t i = stack_.size(); i-- > 0 && caller == ask::kNobody;) {
    if (!stack_[i].stub) caller = stack_[i].function;
  }
  const bool timed = call.since.time != 0 && now.time > call.since.time;
  feeder_.add({.at = call.since.branches,
               .until = now.branches,
               .time = call.since.time,
               .duration = timed ? now.time - call.since.time : 0,
               .instructions = now.instructions - call.since.instructions,
               .site = call.site,
               .pid = who.pid,
               .tid = thread_.tid,
               .queue = thread_.queue,
               .function = call.function,
               .caller = caller,
               .depth = static_cast<std::uint32_t>(stack_.size()),
               .outcome = static_cast<std::uint32_t>(outcome),
               .space = who.space});
}

}  // namespace

CallBlocks::CallBlocks(std::shared_ptr<Functions> functions,
                       std::unique_ptr<Blocks<CallEntry>> blocks)
    : functions_(std::move(functions)), blocks_(std::move(blocks)) {}
CallBlocks::~CallBlocks() = default;
std::vector<FunctionName> CallBlocks::functions() const { return functions_->all(); }

std::unique_ptr<CallBlocks> Recording::calls(const Part& part) const {
  const session::Selection selection = selection_of(part);
  auto session = another();
  if (Status status = serve::selects_somebody(*session, selection); !status) {
    raise(status.error(), path());
  }
  session::Session& used = *session;
  auto functions = std::make_shared<Functions>();
  const auto work = [&used, selection, functions](Feed<CallEntry>& feed) {
    CallFeeder feeder(used, feed, *functions);
    auto outcome =
        ask::walk(used,
                  {.selection = selection,
                   .progress = [&feed](std::uint64_t, std::uint64_t) { return feed.wanted(); }},
                  feeder);
    feeder.end();
    return outcome;
  };
  return std::make_unique<CallBlocks>(
      functions, std::make_unique<Blocks<CallEntry>>(std::move(session), part.block, work));
}

}  // namespace hodo::python
