// Traces that real Intel processors made (libxdc's evaluation data), where they are present: the
// path must be the one that libipt's instruction decoder finds.
#include <gtest/gtest.h>
#include <intel-pt.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "../repeats.h"
#include "hodo/flow/decoder.h"
#include "hodo/image/code.h"
#include "libipt_reference.h"
#include "taken_away.h"
#include "ways.h"

namespace hodo::flow {
namespace {

namespace fs = std::filesystem;

std::vector<std::uint8_t> read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// pages.addr: 8-byte addresses; pages.dump: the 4 KiB pages in the same order.
class Pages : public image::CodeSource {
 public:
  explicit Pages(const fs::path& folder) : dump_(read_file(folder / "pages.dump")) {
    const auto addresses = read_file(folder / "pages.addr");
    for (std::size_t i = 0; i + 8 <= addresses.size(); i += 8) {
      std::uint64_t address = 0;
      std::memcpy(&address, addresses.data() + i, 8);
      pages_[address] = i / 8;
    }
  }
  image::CodeSpan find(std::uint64_t address, std::uint64_t) const override {
    const auto page = pages_.find(address & ~(kSize - 1));
    if (page == pages_.end()) return {};
    return {.content = page->second + 1,
            .address = page->first,
            .bytes = std::span(dump_).subspan(page->second * kSize, kSize)};
  }

 private:
  static constexpr std::uint64_t kSize = 4096;
  std::vector<std::uint8_t> dump_;
  std::map<std::uint64_t, std::size_t> pages_;
};

struct Collected : BranchSink {
  std::vector<std::uint64_t> ips;
  std::vector<Loss> losses;
  void on_branches(std::span<const Branch>) override {}
  void on_loss(const Loss& loss) override { losses.push_back(loss); }
  void on_instructions(std::span<const std::uint64_t> batch) override {
    ips.insert(ips.end(), batch.begin(), batch.end());
  }
};

// As the traces' README defines it.
std::uint64_t checksum(std::span<const std::uint64_t> ips) {
  std::uint64_t hash = 1469598103934665603u;
  for (const std::uint64_t ip : ips) hash = (hash ^ ip) * 1099511628211u;
  return hash;
}

// What shared/traces/README.md says that libipt found.
struct Known {
  const char* folder;
  IpRange filter;
  isa::Mode mode;
  std::uint64_t instructions;
  std::uint64_t checksum;
  std::uint64_t conditional;
  std::uint64_t errors;
  friend void PrintTo(const Known& known, std::ostream* out) { *out << known.folder; }
};

class RealTraces : public testing::TestWithParam<Known> {};

fs::path traces_folder() {
  const char* shared = std::getenv("HODO_SHARED");
  return (shared != nullptr ? fs::path(shared) : fs::path(HODO_SOURCE_DIR) / "../shared") /
         "traces";
}

// The README's numbers come from libipt's default configuration, which loses the first segment of
// `avscript`: its PSB+ has a FUP though tracing only starts behind it (erratum BDM70).
TEST_P(RealTraces, PathIsTheKnownOne) {
  const Known& known = GetParam();
  const fs::path folder = traces_folder() / known.folder;
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const Pages pages(folder);
  const auto trace = read_file(folder / "trace.pt");
  Collected sink;
  const Stats stats = decode(trace, pages,
                             {.initial_mode = known.mode,
                              .filter = {known.filter},
                              .errata = {.bdm70 = false},
                              .want_instructions = true},
                             sink);
  EXPECT_EQ(sink.losses.size(), known.errors);
  EXPECT_EQ(stats.instructions, known.instructions);
  EXPECT_EQ(stats.branches[static_cast<int>(BranchKind::cond)] + stats.not_taken,
            known.conditional);
  EXPECT_EQ(sink.ips.size(), known.instructions);
  EXPECT_EQ(checksum(sink.ips), known.checksum);
}

TEST_P(RealTraces, AllOfThePathIsWhatLibiptFinds) {
  const Known& known = GetParam();
  const fs::path folder = traces_folder() / known.folder;
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const Pages pages(folder);
  const auto trace = read_file(folder / "trace.pt");
  Collected sink;
  const Stats stats = decode(
      trace, pages,
      {.initial_mode = known.mode, .filter = {known.filter}, .want_instructions = true}, sink);
  EXPECT_TRUE(sink.losses.empty()) << sink.losses[0].reason;
  const ReferencePath reference = libipt_path(trace, pages, {});
  EXPECT_TRUE(reference.errors.empty());
  EXPECT_GE(sink.ips.size(), known.instructions);
  EXPECT_TRUE(sink.ips == reference.ips) << sink.ips.size() << " and " << reference.ips.size();
  const auto count = [&](BranchKind kind) { return stats.branches[static_cast<int>(kind)]; };
  EXPECT_EQ(count(BranchKind::cond) + stats.not_taken, reference.classes[ptic_cond_jump]);
  EXPECT_EQ(count(BranchKind::call) + count(BranchKind::icall), reference.classes[ptic_call]);
  EXPECT_EQ(count(BranchKind::ret), reference.classes[ptic_return]);
  EXPECT_EQ(count(BranchKind::jmp) + count(BranchKind::ijmp), reference.classes[ptic_jump]);
  EXPECT_EQ(count(BranchKind::syscall), reference.classes[ptic_far_call]);
}

TEST_P(RealTraces, EveryWayOfDecodingSaysTheSame) {
  const Known& known = GetParam();
  const fs::path folder = traces_folder() / known.folder;
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const Pages pages(folder);
  const auto trace = read_file(folder / "trace.pt");
  const Piece piece{.bytes = trace};
  for (const bool not_taken : {false, true}) {
    const Config config{
        .initial_mode = known.mode, .filter = {known.filter}, .want_not_taken = not_taken};
    EXPECT_EQ(difference_between_ways(std::span(&piece, 1), pages, config), "");
  }
}

// Each page by itself, and several at random: what is listed is in the path, and little else is
// lost than what the pages' own code did.
TEST_P(RealTraces, WithoutPagesOfItsCodeNoBranchIsInvented) {
  constexpr std::uint64_t kPage = 4096;
  const Known& known = GetParam();
  const fs::path folder = traces_folder() / known.folder;
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not there";
  const Pages pages(folder);
  const auto trace = read_file(folder / "trace.pt");
  const Config config{.initial_mode = known.mode, .filter = {known.filter}};
  const Listed whole(trace, pages, config);
  const std::set<std::uint64_t> executed = pages_of(whole, kPage);
  std::uint64_t kept = 0;
  std::uint64_t all = 0;
  unsigned number = 0;
  for (const std::uint64_t page : executed) {
    if (number++ % kOneOf != 0) continue;
    const WithoutPages code(pages, kPage, {page});
    const Listed part(trace, code, config);
    EXPECT_EQ(not_in(whole, part), "") << std::hex << page;
    // What is kept may be little, where the page calls a long loop; but all that can be known, less
    // the branches at the edges.
    EXPECT_GE(100 * listed(part), 98 * knowable(whole, kPage, {page})) << std::hex << page;
    kept += part.stats.instructions;
    all += whole.stats.instructions;
  }
  EXPECT_GT(kept, all / 100 * 95);
  std::mt19937 random(1);
  const std::vector<std::uint64_t> list(executed.begin(), executed.end());
  for (std::size_t count = 2; count < list.size(); count *= 2 * kOneOf) {
    std::set<std::uint64_t> missing;
    for (std::size_t i = 0; i < count; ++i) missing.insert(list[random() % list.size()]);
    const WithoutPages code(pages, kPage, missing);
    EXPECT_EQ(not_in(whole, Listed(trace, code, config)), "") << count;
    const Piece piece{.bytes = trace};
    EXPECT_EQ(difference_between_ways(std::span(&piece, 1), code, config), "") << count;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Libxdc, RealTraces,
    testing::Values(
        Known{
            "unzip", {0x400000, 0x427000}, isa::Mode::bits64, 149576, 0x475e73820f2c5dd8, 45985, 0},
        Known{"foo",
              {0x7ffff7819000, 0x7ffff79ca000},
              isa::Mode::bits64,
              117967,
              0x58e12b3b6adfa04f,
              22298,
              0},
        Known{"avscript",
              {0x1000, 0x7ffffffff000},
              isa::Mode::bits32,
              1091780,
              0x82083e6f862427e2,
              232158,
              1}),
    [](const auto& param) { return std::string(param.param.folder); });

}  // namespace
}  // namespace hodo::flow
