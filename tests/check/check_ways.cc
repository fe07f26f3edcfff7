// Judges a recording as hodo does, in one thread and in several, as it would be judged while it is
// made, by passages alone, and branch by branch.
// Exit status 0: all come to the same; 1: they do not, and the first difference is printed.
//
//     check_ways RECORDING
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "hodo/check/checker.h"
#include "hodo/session/growing.h"
#include "hodo/session/session.h"

namespace {

using namespace hodo;

// Does not want to hear of passages, nor of paths that come again.
class EveryBranch final : public session::BranchSink {
 public:
  explicit EveryBranch(check::Checker& to) : to_(to) {}
  bool branches(const session::Context& context, std::span<const Branch> batch) override {
    return to_.branches(context, batch);
  }

 private:
  check::Checker& to_;
};

// Does not want to hear of paths that come again.
class EveryPassage final : public session::BranchSink {
 public:
  explicit EveryPassage(check::Checker& to) : to_(to) {}
  bool branches(const session::Context& context, std::span<const Branch> batch) override {
    return to_.branches(context, batch);
  }
  bool wants_passages() const override { return true; }
  flow::BranchSink::Judged judged(const session::Context& context, const Branch& branch,
                                  std::uint64_t next) override {
    return to_.judged(context, branch, next);
  }
  std::uint64_t judged_by(const session::Context& context, std::uint64_t time) override {
    return to_.judged_by(context, time);
  }
  bool passages(const session::Context& context, const flow::Passages& batch) override {
    return to_.passages(context, batch);
  }

 private:
  check::Checker& to_;
};

[[noreturn]] void fail(const Error& error) {
  fmt::print(stderr, "{}\n", error.message);
  std::exit(2);
}

void decode(session::Session& session, session::BranchSink& sink, unsigned threads = 1) {
  const auto outcome = check::decode_for_check(session, {.threads = threads}, sink);
  if (!outcome) fail(outcome.error());
}

// All that a checker has to say, a line each.
std::vector<std::string> told(const check::Checker& checker) {
  std::vector<std::string> out = {fmt::format("{} branches", checker.checked())};
  for (const check::Finding& f : checker.findings()) {
    std::string line =
        fmt::format("{} grade {} {}, {} times, {}/{}:", f.rule->name, static_cast<int>(f.grade),
                    f.reason, f.count, f.who.pid, f.who.tid);
    for (const auto& list : {f.before, {f.branch}, f.after}) {
      for (const Branch& b : list) {
        line += fmt::format(" {}:{:x}>{:x}@{}+{}/{}", static_cast<int>(b.kind), b.from, b.to,
                            b.time, b.insns, b.flags);
      }
      line += ';';
    }
    out.push_back(line);
  }
  for (const check::Unjudged& u : checker.unjudged()) {
    out.push_back(fmt::format("{} {} {}", u.path, u.reason, u.branches));
  }
  return out;
}

bool same(const char* how, const std::vector<std::string>& told,
          const std::vector<std::string>& expected) {
  const auto [a, b] = std::ranges::mismatch(told, expected);
  if (a == told.end() && b == expected.end()) return true;
  fmt::print("{}: {}\nby branch: {}\n", how, a == told.end() ? "nothing" : *a,
             b == expected.end() ? "nothing" : *b);
  return false;
}

// Where a recording of this kind can be judged while it is made.
bool as_it_grows(const char* path, const check::Options& options,
                 const std::vector<std::string>& expected) {
  auto growing = session::Growing::open(path);
  if (!growing) return true;
  check::Checker checker((*growing)->session(), options);
  for (int i = 0; i < 2; ++i) {
    const auto other = (*growing)->refresh();
    if (!other) fail(other.error());
    if (*other) checker.move_to((*growing)->session());
  }
  if (auto more = (*growing)->decode(checker); !more) fail(more.error());
  if (auto more = (*growing)->finish(checker); !more) fail(more.error());
  return same("as it grows", told(checker), expected);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} RECORDING\n", argv[0]);
    return 2;
  }
  auto session = session::Session::open({.path = argv[1]});
  if (!session) fail(session.error());
  // Where hodo has kept what it found out of the files, as when it checked the recording itself.
  const auto cache = text::ModuleCache::of_user();
  const check::Options options = {.cache = cache ? &*cache : nullptr};
  check::Checker by_branches(**session, options);
  EveryBranch every_branch(by_branches);
  decode(**session, every_branch);
  check::Checker by_passages(**session, options);
  EveryPassage every_passage(by_passages);
  decode(**session, every_passage);
  check::Checker by_itself(**session, options);
  decode(**session, by_itself);
  check::Checker by_threads(**session, options);
  decode(**session, by_threads, 3);
  const bool growing = as_it_grows(argv[1], options, told(by_branches));
  const bool passages = same("by passages", told(by_passages), told(by_branches));
  const bool threads = same("by threads", told(by_threads), told(by_branches));
  return same("by itself", told(by_itself), told(by_branches)) && growing && passages && threads
             ? 0
             : 1;
}
