#include "hodo/serve/diffs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "aligned.h"
#include "hodo/ask/calls.h"
#include "hodo/ask/compare.h"
#include "hodo/ask/spectrum.h"
#include "hodo/ask/window.h"

namespace hodo::serve {
namespace {

// Unless the message names it already.
Error about(const std::string& file, Error error) {
  const bool named =
      error.message.starts_with(file + ": ") || error.message.starts_with(file + " ");
  if (error.code != ErrorCode::usage && !named) error.message = file + ": " + error.message;
  return error;
}

struct Pair {
  ask::Side a, b;
  std::string a_name, b_name;
};

std::string thread_name(const ask::LastMoment& last) {
  return last.who.tid < 0 ? ask::to_string(last.moment.thread)
                          : fmt::format("{}/{}", last.who.pid, last.who.tid);
}

// A thread's number of its process, and of itself in that, in the order in which they were made.
std::map<std::pair<std::size_t, std::size_t>, const ask::LastMoment*> numbered(const Run& run) {
  std::map<std::pair<std::size_t, std::size_t>, const ask::LastMoment*> out;
  std::pair<std::size_t, std::size_t> number;
  const ask::LastMoment* before = nullptr;
  for (const ask::LastMoment* last : ask::by_birth(run.threads)) {
    if (before != nullptr) {
      const bool anew = last->who.pid != before->who.pid;
      number = anew ? std::pair(number.first + 1, std::size_t{0})
                    : std::pair(number.first, number.second + 1);
    }
    out[number] = before = last;
  }
  return out;
}

std::vector<Pair> pair_threads(Run& a, Run& b, std::vector<std::string>& unpaired) {
  std::vector<Pair> out;
  const auto in_a = numbered(a);
  const auto in_b = numbered(b);
  for (const auto& [place, last] : in_a) {
    const auto other = in_b.find(place);
    if (other == in_b.end()) {
      unpaired.push_back("A's thread " + thread_name(*last));
      continue;
    }
    out.push_back({{a.session, last->moment.thread},
                   {b.session, other->second->moment.thread},
                   "A " + thread_name(*last),
                   "B " + thread_name(*other->second)});
  }
  for (const auto& [place, last] : in_b) {
    if (!in_a.contains(place)) unpaired.push_back("B's thread " + thread_name(*last));
  }
  return out;
}

// "parse#17": the branches of that call.
Result<ask::Side> side_of_call(session::Session& session, const std::string& written,
                               const session::ProgressFunction& progress) {
  auto row = ask::find_call(session, written, {.progress = progress});
  if (!row) return std::unexpected(row.error());
  // The branch that leads out is the caller's: two calls may have come from different places.
  const bool out = row->outcome == ask::CallRow::Outcome::returned;
  return ask::Side{&session, row->at.thread, row->at.branch, row->until.branch - (out ? 1 : 0)};
}

Result<Pair> chosen_pair(const DiffInput& input, Run& a, Run& b,
                         const session::ProgressFunction& progress) {
  Pair out;
  if (!input.calls.empty()) {
    for (const bool first : {true, false}) {
      const std::string& written = input.calls[first ? 0 : 1];
      auto side = side_of_call(*(first ? a : b).session, written, progress);
      if (!side) return std::unexpected(about((first ? a : b).file, side.error()));
      (first ? out.a : out.b) = *side;
      (first ? out.a_name : out.b_name) = (first ? "A " : "B ") + written;
    }
    return out;
  }
  out.a = {a.session, {.tid = input.threads[0]}};
  out.b = {b.session, {.tid = input.threads[1]}};
  out.a_name = fmt::format("A {}", input.threads[0]);
  out.b_name = fmt::format("B {}", input.threads[1]);
  return out;
}

Status cover(const std::optional<ask::Side>& side, Ran& ran,
             const session::ProgressFunction& progress) {
  session::Session& session = ran.session;
  session::DecodeOptions how{.progress = progress};
  auto outcome = Result<session::Outcome>();
  if (side) {
    how.not_taken = true;
    const auto runs = ask::as_runs(ran.builds);
    outcome =
        ask::decode_window(session, {.thread = side->thread, .from = side->from, .to = side->to},
                           {.walk = how, .mark_gaps = true}, *runs);
  } else {
    outcome = session.cover(how, ran.builds);
  }
  if (!outcome) return std::unexpected(outcome.error());
  ran.coverage = analyze::coverage_of(ran.counts, session, {});
  return {};
}

Status add_path(const Pair& pair, const ask::CompareOptions& how, view::DiffView& diff) {
  const session::ProgressFunction& progress = how.progress;
  auto comparison = ask::compare(pair.a, pair.b, how);
  if (!comparison) return std::unexpected(comparison.error());
  view::ComparedPaths paths{.a = pair.a, .b = pair.b, .a_name = pair.a_name, .b_name = pair.b_name};
  paths.comparison = std::move(*comparison);
  if (!paths.comparison.partings.empty()) {
    const ask::Parting& first = paths.comparison.partings.front();
    const ask::SceneOptions around{
        .before = 4, .after = 4, .reach = 4, .progress = progress, .inherited = true};
    auto a = ask::scene_at(*pair.a.session, first.a, around);
    if (!a) return std::unexpected(a.error());
    auto b = ask::scene_at(*pair.b.session, first.b, around);
    if (!b) return std::unexpected(b.error());
    paths.a_scene = std::move(*a);
    paths.b_scene = std::move(*b);
  }
  diff.paths.push_back(std::move(paths));
  return {};
}

// What a run executed, as far as the other one says whether it did.
ask::Spectrum executed(const analyze::Coverage& run, const analyze::Coverage& other,
                       const ask::FunctionsOfFiles& inlined, view::DiffView& diff) {
  ask::Spectrum out = ask::spectrum_of(run);
  ask::leave_out_functions(out, inlined);
  for (const std::string& file : ask::leave_out_lines(out, ask::without_lines(other))) {
    diff.notes.push_back(fmt::format(
        "{} has source lines in one of the recordings only: they are not compared", file));
  }
  return out;
}

Status compare_runs(const DiffInput& input, Run& a, Run& b, view::DiffView& diff,
                    const session::ProgressFunction& progress) {
  std::vector<Pair> pairs;
  const bool parts = !input.calls.empty() || !input.threads.empty();
  if (parts) {
    auto pair = chosen_pair(input, a, b, progress);
    if (!pair) return std::unexpected(pair.error());
    pairs.push_back(std::move(*pair));
  } else {
    pairs = pair_threads(a, b, diff.unpaired);
  }
  Ran ran_a(*a.session);
  Ran ran_b(*b.session);
  const auto part = [&](const ask::Side& side) {
    return parts ? std::optional(side) : std::nullopt;
  };
  if (pairs.empty()) return fail(ErrorCode::not_found, "one of the recordings has no branches");
  if (Status s = cover(part(pairs[0].a), ran_a, progress); !s) return s;
  if (Status s = cover(part(pairs[0].b), ran_b, progress); !s) return s;
  Alignment alignment = align(ran_a, ran_b, "A");
  diff.notes.insert(diff.notes.end(), alignment.notes.begin(), alignment.notes.end());
  diff.complete &= alignment.complete;
  const ask::CompareOptions how{.rebuilt = std::move(alignment.rebuilt),
                                .renamed = std::move(alignment.renamed),
                                .progress = progress};
  for (const Pair& pair : pairs) {
    if (Status s = add_path(pair, how, diff); !s) return s;
  }
  const analyze::Coverage& in_a = ran_a.coverage;
  const analyze::Coverage& in_b = ran_b.coverage;
  diff.differences = ask::differences(executed(in_a, in_b, alignment.inlined, diff),
                                      executed(in_b, in_a, alignment.inlined, diff));
  return {};
}

}  // namespace

Result<Run> run_of(session::Session& session, const std::string& file,
                   const session::ProgressFunction& progress) {
  Run out{.file = file, .session = &session};
  auto threads = ask::last_moments(session, {.progress = progress}, &out.outcome);
  if (!threads) return std::unexpected(about(file, threads.error()));
  out.threads = std::move(*threads);
  return out;
}

Result<view::DiffView> diff_of(Run& a, Run& b, const DiffInput& input,
                               const session::ProgressFunction& progress) {
  view::DiffView diff{.top = input.top};
  for (const Run* run : {&a, &b}) {
    diff.complete &= run->outcome.complete();
    for (const session::LossLine& line : run->outcome.losses) {
      diff.notes.push_back(
          fmt::format("{}: lost: {} ({} times)", run->file, line.cause, line.count));
    }
    if (a.file == b.file) break;
  }
  if (Status status = compare_runs(input, a, b, diff, progress); !status) {
    return std::unexpected(status.error());
  }
  return diff;
}

}  // namespace hodo::serve
