// Judges a recording by passages, in one thread and in several, by the paths that the decoder
// remembers and branch by branch.
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
#include "hodo/session/session.h"

namespace {

using namespace hodo;

// Does not want to hear of paths.
class EveryBranch final : public session::BranchSink {
 public:
  explicit EveryBranch(check::Checker& to) : to_(to) {}
  bool branches(const session::Context& context, std::span<const Branch> batch) override {
    return to_.branches(context, batch);
  }

 private:
  check::Checker& to_;
};

// Wants to hear of paths, not of passages, as a check of what is still being recorded.
class EveryPath final : public session::BranchSink {
 public:
  explicit EveryPath(check::Checker& to) : to_(to) {}
  bool branches(const session::Context& context, std::span<const Branch> batch) override {
    return to_.branches(context, batch);
  }
  bool wants_repeats() const override { return true; }
  bool repeats(const session::Context& context, const flow::Repeats& batch) override {
    return to_.repeats(context, batch);
  }

 private:
  check::Checker& to_;
};

void decode(session::Session& session, session::BranchSink& sink, unsigned threads = 1) {
  const auto outcome = check::decode_for_check(session, {.threads = threads}, sink);
  if (outcome) return;
  fmt::print(stderr, "{}\n", outcome.error().message);
  std::exit(2);
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} RECORDING\n", argv[0]);
    return 2;
  }
  auto session = session::Session::open({.path = argv[1]});
  if (!session) {
    fmt::print(stderr, "{}\n", session.error().message);
    return 2;
  }
  // Where hodo has kept what it found out of the files, as when it checked the recording itself.
  const auto cache = text::ModuleCache::of_user();
  const check::Options options = {.cache = cache ? &*cache : nullptr};
  check::Checker by_branches(**session, options);
  EveryBranch every_branch(by_branches);
  decode(**session, every_branch);
  check::Checker by_paths(**session, options);
  EveryPath every_path(by_paths);
  decode(**session, every_path);
  check::Checker by_itself(**session, options);
  decode(**session, by_itself);
  check::Checker by_threads(**session, options);
  decode(**session, by_threads, 3);
  const bool paths = same("by paths", told(by_paths), told(by_branches));
  const bool threads = same("by threads", told(by_threads), told(by_branches));
  return same("by itself", told(by_itself), told(by_branches)) && paths && threads ? 0 : 1;
}
