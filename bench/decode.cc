// How fast traces are decoded: every branch into batches, coverage into a bitmap, numbers only; the
// first pass over a trace with a new decoder and repeated passes with one that knows the code; in
// the same run libipt's block decoder, and libxdc where its shared library is given.
//
//     cmake --preset bench && ninja -C build/bench bench_decode
//     build/bench/bench/bench_decode TRACE IMAGE... [--filter FIRST-LAST] [--libxdc libxdc.so]
//
// TRACE is raw Intel PT, IMAGE as for `hodo branches --image`, FIRST-LAST the filter of the
// recording, in hex; raw_trace.py makes both of what `hodo record` wrote. The ways run in turn, so
// that a machine whose speed drifts slows all of them; printed are medians with the fastest and the
// slowest. Before anything is timed all of ours have to agree on the number of instructions, but
// for the halves of the trace in turn, which lose a little where they are cut. With these no pass
// is like the one before, which a decoder that only counts what has changed since then likes least.
// libipt reads the code through a callback here (slower than from files, since that turns its block
// cache off).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "hodo/flow/coverage.h"
#include "hodo/flow/decoder.h"
#include "hodo/image/address_space.h"
#include "hodo/image/raw_image.h"
#include "hodo/pt/reader.h"
#include "libipt_blocks.h"
#include "libxdc.h"

namespace {

using namespace hodo;
using bench::Libxdc;

constexpr double kSecondsEach = 0.02;  // one measurement of one way in a round

struct Branches final : flow::BranchSink {
  void on_branches(std::span<const Branch> batch) override { count += batch.size(); }
  void on_loss(const flow::Loss&) override {}
  std::uint64_t count = 0;
};

struct Way {
  const char* name;
  std::function<std::uint64_t()> pass;  // gives the instructions
  std::vector<double> seconds{};        // of a pass
};

// Of this thread, whatever else the machine does meanwhile.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double time_one(const std::function<std::uint64_t()>& pass) {
  const double start = processor_seconds();
  int passes = 0;
  double elapsed = 0;
  do {
    (void)pass();
    ++passes;
    elapsed = processor_seconds() - start;
  } while (elapsed < kSecondsEach);
  return elapsed / passes;
}

[[noreturn]] void quit(const std::string& message) {
  std::fprintf(stderr, "bench_decode: %s\n", message.c_str());
  std::exit(2);
}

struct Options {
  std::string trace;
  std::vector<std::string> images;
  unsigned bits = 64;
  std::string filter;  // FIRST-LAST, in hex
  std::string libxdc;
  std::vector<std::string> ways;  // all, if none
  unsigned rounds = 15;
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("trace", options.trace, "raw Intel PT")->required();
  app.add_option("image", options.images, "the code that ran")->required();
  app.add_option("--bits", options.bits, "width of the code at first");
  app.add_option("--filter", options.filter, "first and last address that was recorded, in hex");
  app.add_option("--libxdc", options.libxdc, "libxdc.so, to be measured, too");
  app.add_option("--way", options.ways, "only this, as it is printed; several times")
      ->allow_extra_args(false);
  app.add_option("--rounds", options.rounds, "how often each way is measured");
}

flow::IpRange filter_of(const Options& options) {
  if (options.filter.empty()) return {0x1000, 0x7fff'ffff'f000};
  char* rest = nullptr;
  const std::uint64_t lo = std::strtoull(options.filter.c_str(), &rest, 16);
  if (*rest != '-') quit("the filter is FIRST-LAST in hex");
  return {lo, std::strtoull(rest + 1, nullptr, 16)};
}

flow::Config config_of(const Options& options) {
  flow::Config config{.want_not_taken = true};
  config.initial_mode = options.bits == 32 ? isa::Mode::bits32 : isa::Mode::bits64;
  if (!options.filter.empty()) config.filter = {filter_of(options)};
  return config;
}

// Where the trace can be cut in two.
std::size_t middle_psb(std::span<const std::uint8_t> trace) {
  pt::PacketReader reader(trace, trace.size() / 2);
  (void)reader.sync_forward();
  return reader.offset();
}

void report(const Way& way, std::size_t bytes, std::uint64_t edges) {
  std::vector<double> sorted = way.seconds;
  std::ranges::sort(sorted);
  const auto rate = [&](double seconds) { return static_cast<double>(bytes) / seconds / 1e6; };
  const double median = sorted[sorted.size() / 2];
  std::printf("  %-28s %9.1f MB/s (%.1f-%.1f)  %7.1f M edges/s\n", way.name, rate(median),
              rate(sorted.back()), rate(sorted.front()), static_cast<double>(edges) / median / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("How fast traces are decoded.");
  add_options(app, options);
  CLI11_PARSE(app, argc, argv);
  std::ifstream in(options.trace, std::ios::binary);
  const std::vector<std::uint8_t> trace{std::istreambuf_iterator<char>(in), {}};
  if (trace.empty()) quit("cannot read " + options.trace);
  image::ContentStore store;
  image::AddressSpace code;
  for (const std::string& image : options.images) {
    const auto spec = image::parse_image(image);
    if (!spec) quit(spec.error().message);
    if (const auto mapped = image::map_image(*spec, store, code); !mapped) {
      quit(mapped.error().message);
    }
  }
  const flow::Config config = config_of(options);
  const flow::Piece piece{.bytes = trace};
  const std::span pieces(&piece, 1);

  Branches branches;
  std::vector<std::uint8_t> map(1 << 16);
  flow::Bitmap bitmap(map);
  flow::Decoder warm(code, config);
  flow::Decoder warm_coverage(code, config);
  bench::LibiptBlocks libipt(trace, code);
  std::vector<Way> ways;
  ways.push_back({"every branch, first pass", [&] {
                    return flow::Decoder(code, config).decode(pieces, branches).instructions;
                  }});
  ways.push_back({"bitmap, first pass",
                  [&] { return flow::Decoder(code, config).cover(pieces, bitmap).instructions; }});
  ways.push_back(
      {"every branch, repeated", [&] { return warm.decode(pieces, branches).instructions; }});
  ways.push_back(
      {"bitmap, repeated", [&] { return warm_coverage.cover(pieces, bitmap).instructions; }});
  ways.push_back({"numbers only, repeated",
                  [&] { return warm_coverage.count(pieces, branches).instructions; }});
  const std::size_t agree = ways.size();
  const std::size_t half = middle_psb(trace);
  const flow::Piece first_half{.bytes = std::span(trace).first(half)};
  const flow::Piece second_half{.bytes = std::span(trace).subspan(half)};
  flow::Decoder turns(code, config);
  ways.push_back({"bitmap, halves in turn", [&] {
                    return turns.cover(std::span(&first_half, 1), bitmap).instructions +
                           turns.cover(std::span(&second_half, 1), bitmap).instructions;
                  }});
  ways.push_back({"libipt block decoder", [&] { return libipt.pass(); }});
  std::unique_ptr<Libxdc> libxdc;
  if (!options.libxdc.empty()) {
    auto loaded = Libxdc::load(options.libxdc, trace, code, filter_of(options));
    if (!loaded) quit(loaded.error().message);
    libxdc = std::move(*loaded);
    const auto nothing = [](auto pass) {
      return [pass] {
        pass();
        return std::uint64_t{0};
      };
    };
    ways.push_back({"libxdc, first pass", nothing([&] { libxdc->first_pass(); })});
    ways.push_back({"libxdc, every edge, repeated", [&] { return libxdc->edges(); }});
    ways.push_back({"libxdc, bitmap, repeated", nothing([&] { libxdc->repeated(); })});
  }

  const flow::Stats outcome = flow::Decoder(code, config).decode(pieces, branches);
  const std::uint64_t edges = branches.count;
  for (const Way& way : std::span(ways).first(agree)) {
    if (const std::uint64_t other = way.pass(); other != outcome.instructions) {
      quit(std::string(way.name) + " comes to " + std::to_string(other) + " instructions, not " +
           std::to_string(outcome.instructions));
    }
  }
  std::printf("%s: %zu bytes, %llu edges, %llu instructions\n", options.trace.c_str(), trace.size(),
              static_cast<unsigned long long>(edges),
              static_cast<unsigned long long>(outcome.instructions));
  if (libxdc != nullptr) {
    std::printf("  libxdc tells of %llu edges\n", static_cast<unsigned long long>(libxdc->edges()));
    if (!libxdc->is_complete()) std::printf("  libxdc gave up before the end\n");
  }
  std::erase_if(ways, [&](const Way& way) {
    return !options.ways.empty() && std::ranges::find(options.ways, way.name) == options.ways.end();
  });
  for (unsigned round = 0; round < options.rounds; ++round) {
    for (Way& way : ways) way.seconds.push_back(time_one(way.pass));
  }
  for (const Way& way : ways) report(way, trace.size(), edges);
  return 0;
}
