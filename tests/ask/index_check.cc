#include "index_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "hodo/ask/index.h"

namespace hodo {
namespace {

// A sink of marks whose calls nobody judges.
class OneByOne final : public session::CheckpointSink {
 public:
  explicit OneByOne(session::CheckpointSink& to) : to_(to) {}
  bool branches(const session::Context& who, std::span<const Branch> batch) override {
    return to_.branches(who, batch);
  }
  bool leaves_out_jumps() const override { return to_.leaves_out_jumps(); }
  bool may_leave_out(const session::Context& who, std::uint64_t line,
                     const Branch& jump) const override {
    return to_.may_leave_out(who, line, jump);
  }
  bool wants_lines() const override { return to_.wants_lines(); }
  bool transfers(const session::Context& who, const flow::Transfers& batch) override {
    return to_.transfers(who, batch);
  }
  void checkpoint(const session::Context& who, const flow::Checkpoint& at) override {
    to_.checkpoint(who, at);
  }

 private:
  session::CheckpointSink& to_;
};

// A session's parts, decoded with so many threads, with a judge or without.
class Ways final : public session::Parts {
 public:
  Ways(session::Parts& parts, bool judged, unsigned threads)
      : parts_(parts), judged_(judged), threads_(threads) {}
  Result<session::Outcome> decode_marked(const session::DecodeOptions& options, std::size_t spacing,
                                         session::CheckpointSink& sink) override {
    session::DecodeOptions how = options;
    how.threads = threads_;
    if (judged_) return parts_.decode_marked(how, spacing, sink);
    OneByOne one_by_one(sink);
    return parts_.decode_marked(how, spacing, one_by_one);
  }
  Result<session::Outcome> decode_part(const session::StreamPart& part,
                                       const session::DecodeOptions& options,
                                       session::BranchSink& sink) override {
    return parts_.decode_part(part, options, sink);
  }
  std::vector<std::string> code_files() override { return parts_.code_files(); }

 private:
  session::Parts& parts_;
  bool judged_;
  unsigned threads_;
};

using Calls = std::map<std::tuple<std::uint32_t, std::uint64_t, bool, bool, bool>,
                       std::pair<std::uint64_t, std::uint64_t>>;

Calls calls_of(const ask::Index& index, const ask::Ran& ran) {
  Calls out;
  for (const ask::CalleeCount& count : ran.callees) {
    const ask::Callee& c = index.callees()[count.callee];
    auto& [opened, closed] = out[{c.space, c.entry, c.by_call, c.hidden, c.first}];
    opened += count.opened;
    closed += count.closed;
  }
  return out;
}

std::string difference_in_counts(const Calls& a, const Calls& b) {
  const auto text = [](const Calls& counts, const Calls::key_type& key) {
    const auto found = counts.find(key);
    if (found == counts.end()) return std::string("none");
    return fmt::format("{} begun and {} ended", found->second.first, found->second.second);
  };
  Calls all = a;
  all.insert(b.begin(), b.end());
  for (const auto& [key, unused] : all) {
    const auto& [space, entry, by_call, hidden, first] = key;
    if (text(a, key) == text(b, key)) continue;
    return fmt::format("counted calls of {:x} (space {}{}{}{}): {}, one by one {},", entry, space,
                       by_call ? ", by call" : "", hidden ? ", hidden" : "", first ? ", first" : "",
                       text(a, key), text(b, key));
  }
  return {};
}

bool same_last(const Branch& a, const Branch& b) {
  return a.from == b.from && a.to == b.to && a.time == b.time && a.insns == b.insns &&
         a.kind == b.kind && a.flags == b.flags;
}

ask::SegmentChange change_of(const ask::Index& index, std::size_t segment) {
  ask::Index::Changes changes(index);
  for (std::size_t i = 0; i < segment; ++i) changes.next();
  return changes.next();
}

std::string difference(const ask::Index& a, const ask::Index& b, std::size_t i) {
  const ask::Segment& x = a.segments()[i];
  const ask::Segment& y = b.segments()[i];
  const auto granules = [i](const ask::Index& index) {
    std::map<std::uint32_t, std::vector<std::uint64_t>> out;
    for (const std::uint32_t n : index.ran(i).granules) {
      out[index.granules()[n].space].push_back(index.granules()[n].number);
    }
    for (auto& [space, all] : out) std::ranges::sort(all);
    return out;
  };
  if (x.thread != y.thread || x.queue != y.queue || x.branches != y.branches) return "place";
  if (x.from.has_value() != y.from.has_value()) return "checkpoint";
  if (x.from && (x.from->offset != y.from->offset || x.from->state != y.from->state)) {
    return "checkpoint's state";
  }
  if (x.time != y.time || !same_last(x.last, y.last)) return "last branch";
  if (x.calls.clock != y.calls.clock || x.calls.space != y.calls.space ||
      x.calls.ended_at != y.calls.ended_at || x.calls.last_loss != y.calls.last_loss) {
    return "state of calls";
  }
  if (x.call_before != y.call_before) return "call before";
  if (x.return_before != y.return_before) return "return before";
  if (change_of(a, i) != change_of(b, i)) return "open calls, or return sites";
  if (std::string counts = difference_in_counts(calls_of(a, a.ran(i)), calls_of(b, b.ran(i)));
      !counts.empty()) {
    return counts;
  }
  if (granules(a) != granules(b) || a.ran(i).any_granule != b.ran(i).any_granule)
    return "code that ran";
  if (x.lossy != y.lossy) return "losses";
  return {};
}

}  // namespace

std::string difference_one_by_one(session::Session& session, std::size_t spacing,
                                  unsigned threads) {
  session::Parts* const parts = session::parts_of(session);
  if (parts == nullptr) return {};
  Ways followed(*parts, true, threads);
  Ways one_by_one(*parts, false, 1);
  const auto a = ask::Index::build(session, followed, spacing, {});
  const auto b = ask::Index::build(session, one_by_one, spacing, {});
  if (!a || !b) return "no index";
  const std::size_t count = std::min(a->segments().size(), b->segments().size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::string what = difference(*a, *b, i);
    if (!what.empty()) return fmt::format("{} at segment {} of {}", what, i, count);
  }
  // Where there are many, it depends on what was spent on callees.
  return a->segments().size() == b->segments().size() ? "" : "number of segments";
}

}  // namespace hodo
