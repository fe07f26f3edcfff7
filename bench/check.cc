// What a check costs beside decoding: the branches of a recording to nobody, to the checker, and to
// the checker with a cache that has the analyses of its files; counting them, which is decoding
// without writing out the branches of paths that come again; and what the analysis of one file
// costs, made and from the cache.
//
//     cmake --preset bench && ninja -C build/bench bench_check
//     build/bench/bench/bench_check RECORDING FILE [ROUNDS]
//
// Processor time of one thread. The ways run in turn, so that a machine whose speed drifts slows
// all of them; printed are medians with the fastest and the slowest.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "hodo/check/checker.h"
#include "hodo/session/session.h"
#include "hodo/text/module.h"

namespace {

using namespace hodo;

struct Way {
  const char* name;
  std::function<std::uint64_t()> pass;  // gives the branches
  std::vector<double> seconds{};
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Nobody final : session::BranchSink {
  std::uint64_t count = 0;
  bool branches(const session::Context&, std::span<const Branch> batch) override {
    count += batch.size();
    return true;
  }
};

std::unique_ptr<session::Session> open(const std::string& path) {
  auto session = session::Session::open({.path = path});
  if (session) return std::move(*session);
  std::fprintf(stderr, "%s\n", session.error().message.c_str());
  std::exit(1);
}

void decode(session::Session& session, session::BranchSink& sink) {
  const auto outcome = check::decode_for_check(session, {.threads = 1}, sink);
  if (outcome) return;
  std::fprintf(stderr, "%s\n", outcome.error().message.c_str());
  std::exit(1);
}

std::uint64_t count(const std::string& path) {
  const auto outcome = open(path)->count({.threads = 1});
  if (!outcome) std::exit(1);
  return outcome->stats.bytes;
}

std::uint64_t check_all(const std::string& path, const text::ModuleCache* cache) {
  const auto session = open(path);
  check::Checker checker(*session, {.cache = cache});
  decode(*session, checker);
  return checker.checked();
}

std::uint64_t analyze(const std::string& path, const text::ModuleCache* cache) {
  const auto module = text::Module::analyze(path, cache);
  if (!module) std::exit(1);
  return 0;
}

void run(std::vector<Way>& ways, int rounds) {
  for (Way& way : ways) way.pass();
  for (int i = 0; i < rounds; ++i) {
    for (Way& way : ways) {
      const double start = processor_seconds();
      way.pass();
      way.seconds.push_back(processor_seconds() - start);
    }
  }
  double first = 0;
  for (Way& way : ways) {
    std::ranges::sort(way.seconds);
    const double median = way.seconds[way.seconds.size() / 2];
    if (first == 0) first = median;
    std::printf("%-28s %8.2f ms (%.2f to %.2f)  %.2f times the first\n", way.name, 1e3 * median,
                1e3 * way.seconds.front(), 1e3 * way.seconds.back(), median / first);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s RECORDING FILE [ROUNDS]\n", argv[0]);
    return 2;
  }
  const std::string recording = argv[1];
  const std::string file = argv[2];
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 9;
  const auto folder = std::filesystem::temp_directory_path() / "hodo-bench-check";
  const std::vector<std::uint8_t> maker = {1};
  const auto cache = text::ModuleCache::in(folder.string(), maker);
  if (!cache) return 1;
  std::vector<Way> checks = {
      {"decode",
       [&] {
         const auto session = open(recording);
         Nobody nobody;
         decode(*session, nobody);
         return nobody.count;
       }},
      {"count", [&] { return count(recording); }},
      {"check", [&] { return check_all(recording, nullptr); }},
      {"check, analyses kept", [&] { return check_all(recording, &*cache); }}};
  std::printf("%llu branches\n", static_cast<unsigned long long>(checks[0].pass()));
  run(checks, rounds);
  std::vector<Way> analyses = {{"analyse", [&] { return analyze(file, nullptr); }},
                               {"analyse, kept", [&] { return analyze(file, &*cache); }}};
  run(analyses, rounds);
  std::filesystem::remove_all(folder);
  return 0;
}
