// How fast recorded branches (BTS records, branch stacks) become batches of Branch: the whole way
// from the file, with the kinds and the instructions in between that the code tells.
//
//     cmake --preset bench && ninja -C build/bench bench_records
//     hodo record --source bts -o bts.data -- PROGRAM
//     hodo record --source lbr --period 100 -o lbr.data -- PROGRAM
//     build/bench/bench/bench_records bts.data lbr.data
//
// Printed are medians of the rounds with the fastest and the slowest, in processor time of the one
// thread: opening (one pass over all records for processes and mappings), and decoding. The files
// are in memory from the first round on.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "hodo/session/session.h"

namespace {

using namespace hodo;

constexpr int kRounds = 9;

class Counter final : public session::BranchSink {
 public:
  bool branches(const session::Context&, std::span<const Branch> batch) override {
    count += batch.size();
    last = batch.back().to;
    return true;
  }
  std::uint64_t count = 0;
  volatile std::uint64_t last = 0;  // a reader, so that no batch is left unmade
};

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void print(const char* what, std::vector<double> seconds, std::uint64_t branches) {
  std::ranges::sort(seconds);
  const double median = seconds[seconds.size() / 2];
  std::printf("  %-8s %8.1f ms (%.1f to %.1f)  %7.1f M branches/s\n", what, 1e3 * median,
              1e3 * seconds.front(), 1e3 * seconds.back(),
              1e-6 * static_cast<double>(branches) / median);
}

bool measure(const std::string& path) {
  std::vector<double> opening;
  std::vector<double> decoding;
  Counter counter;
  std::size_t stacks = 0;
  for (int round = 0; round <= kRounds; ++round) {
    const double start = processor_seconds();
    auto session = session::Session::open({.path = path});
    if (!session) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), session.error().message.c_str());
      return false;
    }
    const double opened = processor_seconds();
    counter.count = 0;
    auto outcome = (*session)->decode({}, counter);
    if (!outcome) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), outcome.error().message.c_str());
      return false;
    }
    stacks = (*session)->facts()->stacks;
    if (round == 0) continue;  // reads the file and its programs from the disk
    opening.push_back(opened - start);
    decoding.push_back(processor_seconds() - opened);
  }
  std::printf("%s: %zu branches, %zu branch stacks\n", path.c_str(),
              static_cast<std::size_t>(counter.count), stacks);
  print("open", opening, counter.count);
  print("decode", decoding, counter.count);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s RECORDING...\n", argv[0]);
    return 2;
  }
  for (int i = 1; i < argc; ++i) {
    if (!measure(argv[i])) return 1;
  }
  return 0;
}
