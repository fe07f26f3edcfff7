#include "hodo/ask/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hodo/session/time_order.h"

namespace hodo::ask {
namespace {

// Numbers each thread's branches.
class Numbering final : public session::BranchSink {
 public:
  explicit Numbering(ThreadSink& sink) : sink_(sink) {}

  bool branches(const session::Context& who, std::span<const Branch> batch) override {
    const ThreadId thread = thread_of(who);
    if (last_ == nullptr || !(thread == last_thread_)) {
      last_ = &counts_[thread];
      last_thread_ = thread;
    }
    const std::uint64_t first = *last_ + 1;
    *last_ +=
        batch.size() - static_cast<std::size_t>(std::ranges::count_if(
                           batch, [](const Branch& b) { return (b.flags & kNotTaken) != 0; }));
    return sink_.branches(who, first, batch);
  }

 private:
  ThreadSink& sink_;
  std::map<ThreadId, std::uint64_t> counts_;
  std::uint64_t* last_ = nullptr;
  ThreadId last_thread_;
};

}  // namespace

std::string where_lost(const session::Outcome& outcome) {
  if (outcome.losses.empty()) return {};
  return fmt::format("; part of the recording was lost ({}), 'hodo stats' says more",
                     outcome.losses.front().cause);
}

void add_losses(std::vector<session::LossLine>& known, const std::vector<session::LossLine>& more) {
  for (const session::LossLine& line : more) {
    const auto same = std::ranges::find(known, line.cause, &session::LossLine::cause);
    if (same == known.end()) {
      known.push_back(line);
    } else if (line.count > same->count) {
      *same = line;
    }
  }
}

std::string searched(const session::Selection& selection) {
  if (selection.tid) return fmt::format("thread {}", *selection.tid);
  if (selection.pid) return fmt::format("process {}", *selection.pid);
  return "the recording";
}

session::Selection only(const ThreadId& thread) {
  session::Selection out;
  if (thread.tid >= 0) out.tid = thread.tid;
  return out;
}

Result<session::Outcome> decode_in_order(session::Session& session, const WalkOptions& options,
                                         session::BranchSink& sink) {
  for (const session::Queue& queue : session.queues()) {
    if (queue.cpu >= 0 && queue.tid < 0) return session::decode_by_time(session, options, sink);
  }
  return session.decode(options, sink);
}

Result<session::Outcome> walk(session::Session& session, const WalkOptions& options,
                              ThreadSink& sink) {
  Numbering numbering(sink);
  return decode_in_order(session, options, numbering);
}

}  // namespace hodo::ask
