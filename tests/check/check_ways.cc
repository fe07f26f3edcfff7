// Judges a recording by the paths that the decoder remembers and branch by branch. Exit status 0:
// both come to the same; 1: they do not, and the first difference is printed.
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

void decode(session::Session& session, session::BranchSink& sink) {
  const auto outcome = check::decode_for_check(session, {}, sink);
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
  check::Checker by_paths(**session, {});
  decode(**session, by_paths);
  check::Checker by_branches(**session, {});
  EveryBranch every_branch(by_branches);
  decode(**session, every_branch);
  const auto paths = told(by_paths);
  const auto branches = told(by_branches);
  const auto [a, b] = std::ranges::mismatch(paths, branches);
  if (a == paths.end() && b == branches.end()) return 0;
  fmt::print("by paths:  {}\nby branch: {}\n", a == paths.end() ? "nothing" : *a,
             b == branches.end() ? "nothing" : *b);
  return 1;
}
