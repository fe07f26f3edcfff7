// The open calls of every thread of a walk.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "hodo/analyze/open_calls.h"
#include "hodo/ask/moment.h"
#include "hodo/session/session.h"
#include "segments.h"

namespace hodo::ask {

class ThreadCalls {
 public:
  explicit ThreadCalls(session::Session& session) : following_(session.names(), session.clock()) {}

  // The calls of a thread; the first question for it makes them, with this watcher.
  analyze::OpenCalls& of(const ThreadId& thread, analyze::CallWatcher* watcher) {
    auto it = threads_.find(thread);
    if (it == threads_.end()) it = threads_.try_emplace(thread, following_, watcher).first;
    return it->second;
  }
  // A thread's calls as they are behind branches that were left out; the watcher hears of them.
  void restore(const ThreadId& thread, analyze::CallWatcher* watcher, const SegmentStart& start) {
    start.cursor.put_returns(start.walked, following_.return_sites());
    of(thread, watcher).restore(start.cursor.calls());
  }
  analyze::Following& following() { return following_; }
  std::span<const analyze::Function> functions() const { return following_.functions(); }

 private:
  analyze::Following following_;
  std::map<ThreadId, analyze::OpenCalls> threads_;
};

}  // namespace hodo::ask
