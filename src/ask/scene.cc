#include "hodo/ask/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "hodo/flow/decoder.h"
#include "inherited.h"
#include "thread_calls.h"

namespace hodo::ask {
namespace {

constexpr std::size_t kMostThreadsListed = 10;

// Whether the instruction at the branch's source was executed, and counted.
bool executed(const Branch& branch) {
  return branch.kind != BranchKind::end && (branch.flags & kAsync) == 0 &&
         branch.kind != BranchKind::lost && branch.kind != BranchKind::begin;
}

// Gathers a scene from the branches of all threads that come.
class Gatherer final : public ThreadSink, analyze::CallWatcher {
 public:
  Gatherer(session::Session& session, const Moment& moment, const SceneOptions& options)
      : calls_(session),
        options_(options),
        moment_(moment),
        is_pt_(session.trace() == session::TraceKind::pt) {
    scene_.moment = moment;
  }

  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    const ThreadId thread = thread_of(who);
    if (!(thread == moment_.thread)) {
      if (others_.size() < kMostThreadsListed) others_.insert(thread);
      return true;
    }
    analyze::OpenCalls& calls = calls_.of(thread, this);
    std::uint64_t number = first;
    for (const Branch& branch : batch) {
      if ((branch.flags & kNotTaken) != 0) continue;
      if (!add(who, number, branch, calls)) return false;
      ++number;
    }
    return true;
  }

  // As if the branches before a segment had come.
  void begin_at(const Index& index, std::size_t segment) {
    const Segment& s = index.segments()[segment];
    calls_.of(moment_.thread, this)
        .restore(index.calls_at(segment, calls_.following().return_sites()));
    count_ = s.branches;
    scene_.last_loss = s.calls.last_loss;
    const auto set = [this](std::optional<Moment>& what, std::uint64_t branch) {
      what.reset();
      if (branch != 0) what = Moment{moment_.thread, branch, 0};
    };
    set(scene_.call_before, s.call_before);
    set(scene_.return_before, s.return_before);
  }

  Result<Scene> take(session::Session& session);

 private:
  bool add(const session::Context& who, std::uint64_t number, const Branch& branch,
           analyze::OpenCalls& calls) {
    if (number > moment_.branch && !stood_) stand(calls);
    count_ = number;
    calls.branch(who.space, branch);
    if (number <= moment_.branch) {
      if (branch.kind == BranchKind::lost) scene_.last_loss = number;
      before_.push_back({branch, who, depth_});
      // One more than asked for: its target is where the first line begins.
      if (before_.size() > options_.before + 1) before_.pop_front();
      return true;
    }
    if (scene_.after.size() < options_.after) scene_.after.push_back({branch, who, depth_});
    if (number - moment_.branch < std::max<std::uint64_t>(options_.after, 1)) return true;
    if (number - moment_.branch >= options_.reach) return false;
    const bool out_known = scene_.out_after || depth_there_ == 0;
    return !scene_.call_after || !scene_.return_after || !out_known;
  }

  // The path has come to the moment's branch.
  void stand(const analyze::OpenCalls& calls) {
    stood_ = true;
    open_ = calls.open();
    depth_there_ = depth_;
    insns_ = calls.clock().instructions;
  }

  void opened(const analyze::OpenCall& call, std::size_t depth) override {
    depth_ = depth + 1;
    if (!call.stub) entered(call);
  }
  void became(const analyze::OpenCall& call, std::size_t) override { entered(call); }
  void entered(const analyze::OpenCall& call) {
    if (call.how == analyze::CallEntry::first) return;
    note(scene_.call_before, scene_.call_after, call.since.branches);
  }
  void closed(const analyze::OpenCall& call, analyze::CallEnd how,
              const analyze::CallClock& now) override {
    --depth_;
    if (how == analyze::CallEnd::returned && !call.stub) {
      note(scene_.return_before, scene_.return_after, now.branches);
    }
    if (stood_ && depth_ < depth_there_ && !scene_.out_after) {
      scene_.out_after = Moment{moment_.thread, now.branches, 0};
    }
  }
  void note(std::optional<Moment>& before, std::optional<Moment>& after, std::uint64_t branch) {
    const Moment there{moment_.thread, branch, 0};
    if (there < moment_) before = there;
    if (moment_ < there && !after) after = there;
  }

  Error no_such(const session::Session& session) const;
  std::size_t outermost() const;
  void frames();

  ThreadCalls calls_;
  SceneOptions options_;
  Moment moment_;
  bool is_pt_;
  Scene scene_;
  std::deque<Passed> before_;
  std::vector<analyze::OpenCall> open_;
  std::set<ThreadId> others_;
  std::uint64_t count_ = 0;
  std::uint64_t insns_ = 0;
  std::size_t depth_ = 0;
  std::size_t depth_there_ = 0;
  bool stood_ = false;
};

Error Gatherer::no_such(const session::Session& session) const {
  if (count_ != 0) {
    return {ErrorCode::not_found,
            fmt::format("there is no moment {}: thread {} has {} branches", to_string(moment_),
                        to_string(moment_.thread), count_)};
  }
  // Where queues are threads', only the one asked for was decoded.
  std::set<ThreadId> all = others_;
  for (const session::Queue& queue : session.queues()) {
    if (queue.tid >= 0 && all.size() < kMostThreadsListed) all.insert({.tid = queue.tid});
  }
  std::string list;
  for (const ThreadId& thread : all) list += (list.empty() ? "" : ", ") + to_string(thread);
  return {ErrorCode::not_found,
          fmt::format("the recording has no branches of thread {}{}{}", to_string(moment_.thread),
                      list.empty() ? "" : "; it has those of ", list)};
}

// Go's scheduler leaves its own stack for a goroutine's by the jump out of gogo, and comes back by
// no return: what is open below a goroutine's first function is nothing that it returns to.
std::size_t Gatherer::outermost() const {
  const auto name = [this](std::size_t i) -> std::string_view {
    return calls_.functions()[open_[i].function].name;
  };
  for (std::size_t i = open_.size(); i-- > 2;) {
    if (open_[i].how != analyze::CallEntry::jumped || name(i - 1) != "gogo") continue;
    if (name(i - 2).starts_with("runtime.gogo")) return i;
  }
  return 0;
}

void Gatherer::frames() {
  const std::size_t end = outermost();
  std::uint64_t at = scene_.address;
  std::uint64_t at_time = scene_.time;
  for (std::size_t i = open_.size(); i-- > end;) {
    const analyze::OpenCall& call = open_[i];
    const std::uint64_t site = call.site;
    if (!call.stub || i + 1 == open_.size()) {
      const analyze::Function& f = calls_.functions()[call.function];
      scene_.calls.push_back({.name = f.name,
                              .object = f.object,
                              .at = at,
                              .at_time = at_time,
                              .entered = {moment_.thread, call.since.branches, 0},
                              .entry_time = call.since.time,
                              .instructions = insns_ + moment_.insn - call.since.instructions,
                              .how = call.how});
    }
    at = site;
    at_time = call.since.ticks;
  }
  if (open_.empty() || open_.back().how == analyze::CallEntry::first) return;
  const analyze::OpenCall& call = open_.back();
  if (call.since.branches == 0) return;
  scene_.out_before = Moment{moment_.thread, call.made_branch, call.made_insn};
}

Result<Scene> Gatherer::take(session::Session& session) {
  if (count_ == 0 || count_ < moment_.branch) return std::unexpected(no_such(session));
  if (!stood_) stand(calls_.of(moment_.thread, this));
  scene_.ends = count_ == moment_.branch + scene_.after.size();
  scene_.before.assign(before_.begin(), before_.end());
  const Passed* last = before_.empty() ? nullptr : &before_.back();
  scene_.who = last != nullptr ? last->who : scene_.after.front().who;
  scene_.time = last != nullptr ? last->branch.time : 0;
  const std::uint64_t begin = last != nullptr ? flow::line_behind(last->branch) : 0;
  Code code(session);
  if (moment_.insn != 0) {
    const Branch* next = scene_.after.empty() ? nullptr : &scene_.after.front().branch;
    const std::uint64_t most = next == nullptr ? 0 : next->insns - (executed(*next) ? 1 : 0);
    if (next == nullptr || next->insns == 0 || moment_.insn > most) {
      return fail(
          ErrorCode::not_found,
          fmt::format("there is no moment {}: {} instructions follow branch {} before the"
                      " next one",
                      to_string(moment_), next == nullptr ? 0 : next->insns, moment_.branch));
    }
  }
  if (begin != 0) {
    const auto line = code.line(scene_.who.space, begin, scene_.time, moment_.insn + 1);
    if (line.size() == moment_.insn + 1) scene_.address = line.back().address;
    if (line.empty() && moment_.insn == 0) scene_.address = begin;
    const Branch* next = scene_.after.empty() ? nullptr : &scene_.after.front().branch;
    // Where the path came to code that is not known.
    const bool came = next != nullptr && !executed(*next) && moment_.insn == next->insns;
    if (scene_.address == 0 && came) scene_.address = next->from;
    scene_.goes_round = came && scene_.address == next->from && is_pt_ &&
                        code.comes_back(scene_.who.space, scene_.address, scene_.time);
  }
  scene_.ran = insns_ + moment_.insn;
  frames();
  return std::move(scene_);
}

// The instructions behind `from`, which is branch `number`, up to `next`.
void add_line(std::vector<Step>& out, const Passed& from, std::uint64_t number, const Passed* next,
              const ThreadId& thread, Code& code) {
  const std::uint64_t begin = flow::line_behind(from.branch);
  if (begin == 0) return;
  const std::uint64_t time = from.branch.time;
  const std::uint64_t known = next == nullptr ? 0 : next->branch.insns;
  const bool stands = next == nullptr || (!executed(next->branch) && next->branch.from != 0);
  const auto line = code.line(from.who.space, begin, time, known + (stands ? 1 : 0));
  for (std::size_t i = 0; i < line.size(); ++i) {
    out.push_back({.moment = {thread, number, i},
                   .address = line[i].address,
                   .time = time,
                   .who = from.who,
                   .depth = from.depth,
                   .executed = i < known,
                   .lost = i >= known && next != nullptr && next->branch.kind == BranchKind::lost});
  }
}

}  // namespace

Result<Scene> scene_at(session::Session& session, const Moment& moment,
                       const SceneOptions& options) {
  Gatherer gatherer(session, moment, options);
  // Where what is wanted of before the moment lies behind it.
  const std::uint64_t reach = options.before + 1;
  const std::size_t segment =
      options.index == nullptr
          ? Index::kNone
          : options.index->index.at(moment.thread, moment.branch - std::min(moment.branch, reach));
  if (segment != Index::kNone) gatherer.begin_at(options.index->index, segment);
  auto outcome =
      segment != Index::kNone
          ? walk_from(*options.index, segment, gatherer)
          : walk(session, {.selection = only(moment.thread), .progress = options.progress},
                 gatherer);
  if (!outcome) return std::unexpected(outcome.error());
  auto scene = gatherer.take(session);
  if (!scene) return scene;
  scene->losses = std::move(outcome->losses);
  if (options.inherited) {
    if (Status status = add_inherited_calls(session, *scene, options); !status) {
      return std::unexpected(status.error());
    }
  }
  return scene;
}

std::vector<Step> steps_of(const Scene& scene, Code& code, std::size_t most) {
  std::vector<Step> out;
  std::vector<const Passed*> all;
  all.reserve(scene.before.size() + scene.after.size());
  for (const Passed& passed : scene.before) all.push_back(&passed);
  for (const Passed& passed : scene.after) all.push_back(&passed);
  const std::uint64_t first = scene.moment.branch + 1 - scene.before.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Passed* next = i + 1 < all.size() ? all[i + 1] : nullptr;
    if (next == nullptr && !scene.ends) break;
    add_line(out, *all[i], first + i, next, scene.moment.thread, code);
  }
  const auto there = std::ranges::lower_bound(out, scene.moment, {}, &Step::moment);
  const auto index = static_cast<std::size_t>(there - out.begin());
  if (out.size() > index + most + 1) out.resize(index + most + 1);
  if (index > most) out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(index - most));
  return out;
}

}  // namespace hodo::ask
