#include "hodo/serve/asking.h"

#include <fmt/format.h>

#include <algorithm>

#include "hodo/ask/calls.h"
#include "hodo/serve/judging.h"

namespace hodo::serve {
namespace {

constexpr std::uint64_t kAround = 16;

// Whether the selection has a branch: decodes up to the first.
bool has_branches(session::Session& session, const session::Selection& selection) {
  class First final : public session::BranchSink {
   public:
    bool branches(const session::Context&, std::span<const Branch> batch) override {
      found |= !batch.empty();
      return !found;
    }
    bool found = false;
  };
  First first;
  (void)session.decode({.selection = selection}, first);
  return first.found;
}

Status check(const WindowInput& input) {
  const bool range = !input.from.empty() || !input.to.empty();
  if (!input.at.empty() && range) {
    return fail(ErrorCode::usage, "--at goes without --from and --to");
  }
  if (input.around != 0 && input.at.empty()) {
    return fail(ErrorCode::usage, "--around goes with --at: around which moment?");
  }
  if (input.last != 0 && (range || !input.at.empty())) {
    return fail(ErrorCode::usage, "--last goes without --at, --from and --to");
  }
  if (!input.call.empty() && (range || !input.at.empty() || input.last != 0)) {
    return fail(ErrorCode::usage, "--call goes without --at, --from, --to and --last");
  }
  return {};
}

// One of the window's two ends.
Status set_end(session::Session& session, const ask::FindOptions& options, const std::string& text,
               bool is_from, ask::Window& window) {
  if (text.empty()) return {};
  auto spec = ask::parse_moment(text);
  if (!spec) return std::unexpected(spec.error());
  if (spec->kind == ask::MomentSpec::Kind::time && !options.walk.selection.tid) {
    (is_from ? window.from_time : window.to_time) = spec->time;
    return {};
  }
  ask::FindOptions how = options;
  if (window.thread && window.thread->tid >= 0) how.walk.selection = ask::only(*window.thread);
  auto moment = ask::find_moment(session, *spec, how);
  if (!moment) return std::unexpected(moment.error());
  if (window.thread && *window.thread != moment->thread) {
    return fail(ErrorCode::usage,
                fmt::format("--from is in thread {} and --to in thread {}; give both in one thread,"
                            " or as times",
                            ask::to_string(*window.thread), ask::to_string(moment->thread)));
  }
  window.thread = moment->thread;
  (is_from ? window.from : window.to) = moment->branch;
  return {};
}

}  // namespace

Result<ask::Window> window_of(session::Session& session, const WindowInput& input,
                              const ask::FindOptions& options) {
  if (Status good = check(input); !good) return std::unexpected(good.error());
  ask::Window out{.function = input.function, .module = input.module};
  ask::FindOptions how = options;
  how.losses = &out.losses;
  if (input.last != 0) out.last = input.last;
  if (!input.at.empty()) {
    auto moment = ask::find_moment(session, input.at, how);
    if (!moment) return std::unexpected(moment.error());
    const std::uint64_t around = input.around == 0 ? kAround : input.around;
    out.thread = moment->thread;
    out.from = moment->branch - std::min(moment->branch, around);
    if (moment->branch < ~around) out.to = moment->branch + around;
    return out;
  }
  if (!input.call.empty()) {
    auto row = ask::find_call(session, input.call, how.walk, how.index, how.losses);
    if (!row) return std::unexpected(row.error());
    out.thread = row->at.thread;
    out.from = row->at.branch;
    out.to = row->until.branch;
    return out;
  }
  for (const bool is_from : {true, false}) {
    const std::string& text = is_from ? input.from : input.to;
    if (Status set = set_end(session, how, text, is_from, out); !set) {
      return std::unexpected(set.error());
    }
  }
  if (out.from > out.to || out.from_time > out.to_time) {
    return fail(ErrorCode::usage, fmt::format("--from {} is behind --to {}: nothing lies between",
                                              input.from, input.to));
  }
  return out;
}

std::vector<session::ProcessEnd> ends_of(const session::Session& session) {
  const session::Facts* facts = session.facts();
  return facts == nullptr ? std::vector<session::ProcessEnd>{} : facts->ends;
}

Result<ask::FoundBranch> finding_of(const view::Checked& checked, std::uint64_t number) {
  if (number == 0 || number > checked.findings.size()) {
    return fail(ErrorCode::not_found, fmt::format("finding {} was asked for, and there are {}",
                                                  number, checked.findings.size()));
  }
  const check::Finding& found = checked.findings[number - 1];
  return ask::FoundBranch{found.who, found.branch};
}

namespace {

Result<ask::FoundBranch> finding(session::Session& session, std::uint64_t number,
                                 const session::ProgressFunction& progress) {
  auto checked = judge(session, {}, {.progress = progress});
  if (!checked) return std::unexpected(checked.error());
  hide_explained(*checked);
  return finding_of(*checked, number);
}

}  // namespace

ask::FindOptions find_options(session::Session& session, const ask::WalkOptions& walk) {
  return {.walk = walk,
          .finding = [&session,
                      tell = walk.progress](std::uint64_t n) { return finding(session, n, tell); },
          .ends = ends_of(session)};
}

Status selects_somebody(session::Session& session, const session::Selection& selection) {
  const session::Facts* const facts = session.facts();
  if (facts == nullptr) return {};
  const auto has = [](const auto& all, std::int32_t number, auto of) {
    return std::ranges::find(all, number, of) != all.end();
  };
  using session::Queue, session::Thread, session::Process;
  const bool no_process = selection.pid && !has(facts->processes, *selection.pid, &Process::pid) &&
                          !has(facts->threads, *selection.pid, &Thread::pid) &&
                          !has(session.queues(), *selection.pid, &Queue::pid);
  const bool no_thread = selection.tid && !has(facts->threads, *selection.tid, &Thread::tid) &&
                         !has(session.queues(), *selection.tid, &Queue::tid);
  if (!no_process && !no_thread) return {};
  // Who ran on a processor need not have been named, nor have begun while it was recorded.
  const bool mixed =
      std::ranges::any_of(session.queues(), [](const Queue& q) { return q.cpu >= 0 || q.tid < 0; });
  if (mixed && has_branches(session, selection)) return {};
  return fail(
      ErrorCode::not_found,
      fmt::format("no {} {} is in the recording; 'hodo report' lists those that are",
                  no_process ? "process" : "thread", no_process ? *selection.pid : *selection.tid));
}

}  // namespace hodo::serve
