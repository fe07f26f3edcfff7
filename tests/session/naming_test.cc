// That what code is called is the same between two times of one number (Names::naming), whatever
// was mapped, kept, forked and executed between.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "hodo/perfdata/reader.h"
#include "hodo/perfdata/writer.h"
#include "names/recording_names.h"
#include "temp_dir.h"

namespace hodo::session {
namespace {

constexpr std::uint64_t kFirst = 0x10000, kPage = 0x1000, kPages = 8;
constexpr std::uint64_t kEvents = 30, kTick = 10;

// A recording of two processes and what became of their memory.
class RandomMappings {
 public:
  RandomMappings(const std::string& path, unsigned seed)
      : random_(seed), writer_(perfdata::Writer::create(path, options()).value()) {
    for (std::uint64_t event = 1; event <= kEvents; ++event) add(event * kTick);
    EXPECT_TRUE(writer_.finish(""));
  }

 private:
  static perfdata::WriterOptions options() {
    perfdata::WriterOptions out;
    out.pt.time = {.shift = 0, .mult = 1, .zero = 0, .valid = true};  // ticks are ns
    return out;
  }
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  perfdata::Stamp stamp(std::uint64_t time) const {
    return {.pid = pid_, .tid = pid_, .time = time};
  }

  void add(std::uint64_t time) {
    pid_ = 1 + static_cast<std::int32_t>(below(2));
    switch (below(12)) {
      case 0:
        EXPECT_TRUE(writer_.fork({.pid = 2, .ppid = 1, .tid = 2, .ptid = 1, .time = time},
                                 {.pid = 2, .tid = 2, .time = time}));
        return;
      case 1:
        EXPECT_TRUE(
            writer_.comm({.pid = pid_, .tid = pid_, .comm = "other", .exec = true}, stamp(time)));
        return;
      case 2:
      case 3:
      case 4:
        return keep(time);
      default:
        return map(time);
    }
  }
  void map(std::uint64_t time) {
    constexpr std::array<const char*, 5> kPaths = {"/none/a.so", "/none/b.so", "//anon", "[heap]",
                                                   "/dev/zero (deleted)"};
    const std::uint64_t first = below(kPages);
    const std::uint64_t pages = 1 + below(kPages - first);
    perfdata::Mmap mapping;
    mapping.pid = mapping.tid = pid_;
    mapping.address = kFirst + first * kPage;
    mapping.size = pages * kPage;
    mapping.file_offset = below(2) * first * kPage;
    mapping.prot = below(4) == 0 ? PROT_READ : PROT_READ | PROT_EXEC;
    mapping.data = (mapping.prot & PROT_EXEC) == 0;
    mapping.flags = MAP_PRIVATE;
    mapping.path = kPaths[below(kPaths.size())];
    EXPECT_TRUE(writer_.mmap(mapping, stamp(time)));
  }
  void keep(std::uint64_t time) {
    const std::vector<std::uint8_t> code(1 + below(2 * kPage), 0x90);
    EXPECT_TRUE(writer_.code(kFirst + below(kPages * kPage - code.size()), code, stamp(time)));
  }

  std::mt19937 random_;
  perfdata::Writer writer_;
  std::int32_t pid_ = 1;
};

TEST(Naming, IsTheSameOnlyWhereAllIsCalledTheSame) {
  const perfdata::TempDir dir;
  std::size_t steady = 0, changed = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::string path = dir.file("data");
    RandomMappings(path, seed);
    const perfdata::Reader reader = perfdata::Reader::open(path).value();
    const auto recording = perfdata::Model::load(reader).value();
    Spaces spaces(recording);
    const RecordingNames names(recording, spaces);
    for (std::uint32_t space = 0; space < recording.processes().size(); ++space) {
      std::map<std::pair<std::uint32_t, std::uint64_t>, Object> known;
      for (std::uint64_t time = 1; time < (kEvents + 2) * kTick; time += kTick / 2) {
        const std::uint32_t naming = names.naming(space, time);
        const bool same = naming == names.naming(space, time - 1);
        ++(same ? steady : changed);
        for (std::uint64_t at = kFirst; at < kFirst + kPages * kPage; at += 0x80) {
          const Object now = names.object(space, at, time);
          const Object& before = known.try_emplace({naming, at}, now).first->second;
          ASSERT_EQ(before.path, now.path) << "seed " << seed << " at " << at << " time " << time;
          ASSERT_EQ(before.offset, now.offset) << "seed " << seed << " at " << at;
        }
      }
    }
  }
  EXPECT_GT(steady, changed);
}

}  // namespace
}  // namespace hodo::session
