// Branches as rows.
#include "errors.h"
#include "hodo/ask/walk.h"
#include "hodo/serve/asking.h"
#include "hodo/serve/recording_index.h"
#include "recording.h"

namespace hodo::python {
namespace {

BranchRow row_of(const session::Context& who, const Branch& branch, std::uint64_t number,
                 session::Clock& clock) {
  return {.time = clock.nanoseconds(branch.time),
          .from = branch.from,
          .to = branch.to,
          .cr3 = who.cr3.value_or(~std::uint64_t{0}),
          .cpu = who.cpu,
          .pid = who.pid,
          .tid = who.tid,
          .kind = static_cast<std::uint8_t>(branch.kind),
          .flags = branch.flags,
          .cycles = branch.cycles,
          .number = number,
          .insns = branch.insns,
          .space = who.space};
}

// From either kind of decoding to the feed.
class BranchFeeder final : public ask::ThreadSink, public ask::NumberedSink {
 public:
  BranchFeeder(Feed<BranchRow>& feed, session::Clock clock) : feed_(feed), clock_(clock) {}

  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    std::uint64_t number = first;
    for (const Branch& branch : batch) {
      if (!feed_.add(row_of(who, branch, number, clock_))) return false;
      if ((branch.flags & kNotTaken) == 0) ++number;
    }
    return true;
  }
  bool branches(const session::Context& who, std::span<const std::uint64_t> numbers,
                std::span<const Branch> batch) override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!feed_.add(row_of(who, batch[i], numbers[i], clock_))) return false;
    }
    return true;
  }

 private:
  Feed<BranchRow>& feed_;
  session::Clock clock_;
};

Result<session::Outcome> feed_branches(session::Session& session, const Part& part,
                                       const session::Selection& selection, bool may_index,
                                       Feed<BranchRow>& feed) {
  const session::ProgressFunction wanted = [&feed](std::uint64_t, std::uint64_t) {
    return feed.wanted();
  };
  ask::WalkOptions walk{.selection = selection, .not_taken = part.not_taken, .progress = wanted};
  std::unique_ptr<ask::IndexedRecording> index;
  if (may_index && part.window.has_moments()) index = serve::index_of(session, wanted);
  ask::FindOptions how = serve::find_options(session, walk);
  how.index = index.get();
  auto window = serve::window_of(session, part.window, how);
  if (!window) return std::unexpected(window.error());
  BranchFeeder feeder(feed, session.clock());
  if (window->everything()) return ask::walk(session, walk, feeder);
  return ask::decode_window(session, *window, {.walk = walk, .index = index.get()},
                            static_cast<ask::NumberedSink&>(feeder));
}

}  // namespace

std::unique_ptr<Blocks<BranchRow>> Recording::branches(const Part& part) const {
  const session::Selection selection = selection_of(part);
  auto session = another();
  if (Status status = serve::selects_somebody(*session, selection); !status) {
    raise(status.error(), path());
  }
  session::Session& used = *session;
  return std::make_unique<Blocks<BranchRow>>(
      std::move(session), part.block,
      [&used, part, selection, may_index = options_.index](Feed<BranchRow>& feed) {
        return feed_branches(used, part, selection, may_index, feed);
      });
}

}  // namespace hodo::python
