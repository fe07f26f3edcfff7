// What lies beneath code that a recording kept, in processes that were forked later.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <utility>

#include "code/recording_regions.h"
#include "hodo/image/file.h"
#include "hodo/perfdata/reader.h"
#include "hodo/perfdata/writer.h"
#include "temp_dir.h"

namespace hodo::session {
namespace {

constexpr std::uint64_t kKernelsPage = 0x7000;

// A process with the kernel's page, of which a piece was kept, its child and the child's child.
struct ForkedTwice {
  ForkedTwice() : writer(perfdata::Writer::create(dir.file("data"), options()).value()) {
    map(kKernelsPage, "[vdso]", 100);
    keep(1, 110);
    fork(1, 2, 200);
    fork(2, 3, 300);
  }

  static perfdata::WriterOptions options() {
    perfdata::WriterOptions out;
    out.pt.time = {.shift = 0, .mult = 1, .zero = 0, .valid = true};  // ticks are ns
    return out;
  }
  void map(std::uint64_t address, std::string path, std::uint64_t time,
           std::uint32_t flags = MAP_PRIVATE) {
    perfdata::Mmap page;
    page.pid = page.tid = 1;
    page.address = address;
    page.size = 0x1000;
    page.prot = PROT_READ | PROT_EXEC;
    page.flags = flags;
    page.path = std::move(path);
    EXPECT_TRUE(writer.mmap(page, {.pid = 1, .tid = 1, .time = time}));
  }
  void keep(std::int32_t pid, std::uint64_t time, std::uint64_t address = kKernelsPage + 0x100) {
    constexpr std::array<std::uint8_t, 4> kCode = {0x90, 0x90, 0x90, 0xc3};
    EXPECT_TRUE(writer.code(address, kCode, {.pid = pid, .tid = pid, .time = time}));
  }
  void fork(std::int32_t parent, std::int32_t child, std::uint64_t time) {
    EXPECT_TRUE(
        writer.fork({.pid = child, .ppid = parent, .tid = child, .ptid = parent, .time = time},
                    {.pid = child, .tid = child, .time = time}));
  }
  // The path there at time 1000, of each process; "?" where nothing is mapped.
  std::vector<std::string> paths(std::uint64_t address) {
    EXPECT_TRUE(writer.finish(""));
    const perfdata::Reader reader = perfdata::Reader::open(dir.file("data")).value();
    const auto recording = perfdata::Model::load(reader).value();
    Spaces spaces(recording);
    const RecordingRegions regions(recording, spaces);
    std::vector<std::string> out;
    for (std::uint32_t space = 0; space < recording.processes().size(); ++space) {
      const auto region = regions.region(space, address, 1000);
      out.emplace_back(region ? region->path : "?");
    }
    return out;
  }

  perfdata::TempDir dir;
  perfdata::Writer writer;
};

using PathsOfSpaces = std::vector<std::string>;

TEST(KeptCode, LiesOverWhatTheFirstOfItsForefathersMapped) {
  ForkedTwice recorded;
  EXPECT_EQ(recorded.paths(kKernelsPage + 0x100), (PathsOfSpaces{"[vdso]", "[vdso]", "[vdso]"}));
}

TEST(KeptCode, ThatIsKeptAgainInAChildLiesOverTheSame) {
  ForkedTwice recorded;
  recorded.keep(2, 400);
  recorded.keep(3, 400);
  EXPECT_EQ(recorded.paths(kKernelsPage + 0x100), (PathsOfSpaces{"[vdso]", "[vdso]", "[vdso]"}));
}

// A file that was gone when the recording ended: its code is as old as its mapping.
TEST(KeptCode, IsOfTheFileThatWasMappedAtTheSameTime) {
  for (const std::string_view path :
       {"/gone/library.so", "/memfd:made", "/tmp/#12 (deleted)", "/dev/shm/made (deleted)",
        "/gone/library.so (deleted)", "/gone/#12x (deleted)"}) {
    ForkedTwice recorded;
    recorded.map(0x9000, "//anon", 110);  // unmapped again, which no record says
    recorded.map(0x9000, std::string(path), 120);
    recorded.keep(1, 120, 0x9000);
    const bool is_file = path.starts_with("/gone/");
    EXPECT_EQ(recorded.paths(0x9000).front(), is_file ? path : "");
  }
}

// A loader maps a copy of its own; what is shared with a file that nobody can open is memory.
TEST(KeptCode, OfAFileThatWasDeletedBeforeIsNoFilesWhereItIsShared) {
  for (const std::string_view path : {"/gone/library.so", "/gone/made (deleted)"}) {
    ForkedTwice recorded;
    recorded.map(0x9000, std::string(path), 120, MAP_SHARED);
    recorded.keep(1, 120, 0x9000);
    EXPECT_EQ(recorded.paths(0x9000).front(), path == "/gone/library.so" ? path : "");
  }
}

// Which the recording may hold as a whole: then it is what ran, whatever lies there now.
TEST(KeptCode, IsOfAFileThatTheRecordingHolds) {
  ForkedTwice recorded;
  const std::string path = recorded.dir.file("library.so");
  recorded.map(0x9000, path, 120);
  recorded.keep(1, 120, 0x9000);
  for (const std::uint64_t inode : {1u, 0u}) {
    recorded.writer.whole_file({.path = path, .inode = inode, .build_id = {}},
                               std::vector<std::uint8_t>{7, 8, static_cast<std::uint8_t>(inode)});
  }
  EXPECT_TRUE(recorded.writer.finish(""));
  const perfdata::Reader reader = perfdata::Reader::open(recorded.dir.file("data")).value();
  const auto recording = perfdata::Model::load(reader).value();
  Spaces spaces(recording);
  const auto region = RecordingRegions(recording, spaces).region(0, 0x9000, 1000);
  ASSERT_TRUE(region);
  EXPECT_NE(region->location, "");
  const auto file = image::RegularFile::open(std::string(region->location)).value();
  EXPECT_EQ(file.read_all(100).value(), (std::vector<std::uint8_t>{7, 8, 0}));
}

// What an exec took away is no longer beneath anything.
TEST(KeptCode, OfANewProgramLiesOverNothingOfTheOldOne) {
  ForkedTwice recorded;
  EXPECT_TRUE(recorded.writer.comm({.pid = 3, .tid = 3, .comm = "new", .exec = true},
                                   {.pid = 3, .tid = 3, .time = 350}));
  recorded.keep(3, 400);
  EXPECT_EQ(recorded.paths(kKernelsPage + 0x100), (PathsOfSpaces{"[vdso]", "[vdso]", ""}));
}

}  // namespace
}  // namespace hodo::session
