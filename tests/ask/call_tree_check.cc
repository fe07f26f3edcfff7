#include "call_tree_check.h"

#include <fmt/format.h>

#include "hodo/analyze/call_tree.h"
#include "hodo/ask/walk.h"

namespace hodo {
namespace {

// Has every branch.
class OneByOne final : public session::BranchSink {
 public:
  explicit OneByOne(session::BranchSink& to) : to_(to) {}
  bool branches(const session::Context& who, std::span<const Branch> batch) override {
    return to_.branches(who, batch);
  }

 private:
  session::BranchSink& to_;
};

// Functions have other numbers where others were asked for on the way.
std::string text_of(const analyze::CallTree& tree, const analyze::CallNode& node) {
  const analyze::Function& function = tree.functions()[node.function];
  return fmt::format("{} of {} below {}: {} calls, {} instructions, {} of time", function.name,
                     function.object, node.parent, node.calls, node.instructions, node.time);
}

std::string difference(const analyze::CallTree& a, const analyze::CallTree& b) {
  for (std::size_t i = 0; i < std::min(a.nodes().size(), b.nodes().size()); ++i) {
    const std::string one = text_of(a, a.nodes()[i]);
    const std::string other = text_of(b, b.nodes()[i]);
    if (one != other) return fmt::format("path {} is {}, not {}", i, one, other);
  }
  if (a.nodes().size() != b.nodes().size()) return "number of paths";
  const auto of_threads = [](const analyze::CallTree& tree) {
    std::string out;
    for (const analyze::CallThread& t : tree.threads()) {
      out += fmt::format("{} {} {} {} {}; ", t.tid, t.root, t.gaps, t.gap_time, t.restarts);
    }
    return out;
  };
  return of_threads(a) == of_threads(b) ? "" : "threads";
}

}  // namespace

std::string difference_in_call_tree(session::Session& session, unsigned threads) {
  analyze::CallTree followed(session.names(), session.clock());
  analyze::CallTree meant(session.names(), session.clock());
  OneByOne one_by_one(meant);
  const auto a = ask::decode_in_order(session, {.threads = threads}, followed);
  const auto b = ask::decode_in_order(session, {.threads = 1}, one_by_one);
  if (!a || !b) return "nothing was decoded";
  return difference(followed, meant);
}

}  // namespace hodo
