#include "hodo/export/formats.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "hodo/flow/coverage.h"

namespace hodo::exports {
namespace {

using namespace analyze;
// Of `coverage` in the format of that name.
std::string write(std::string_view name, const Coverage& coverage,
                  const CoverageOptions& options = {}) {
  return find(coverage_formats(), name)->write(coverage, options);
}

Coverage sample() {
  CoveredModule program{.path = "/bin/prog,\n1",
                        .file = true,
                        .base = 0x4000400000,
                        .lowest = 0x400000,
                        .size = 0x5000};
  program.blocks = {{0x401000, 5, 2}, {0x401005, 70000, 1}, {0x412345, 3, 0}};
  program.edges = {{0x401000, 0x401005, 0, 300, BranchKind::cond, false},
                   {0x401000, 0x401005, 0, 7, BranchKind::cond, true}};
  program.functions = {{"_Z1fi", 0x401000, 32, 2, 3, 2, 0, 7}, {"g", 0x402000, 5, 0, 1, 0, 0, 20}};
  program.files = {"/src/a.cc", "/gone/b.h"};
  program.lines = {{0, 7, 2}, {0, 9, 0}, {1, 3, 5}};
  program.branches = {{0x401000, 0, 7, 300, 7}, {0x402000, 0, 9, 0, 0}};
  CoveredModule anonymous{.path = "[anon]"};
  anonymous.blocks = {{0x7ffff0001000, 4, 1}, {0x7fff00000010, 6, 1}};
  return {.modules = {program, anonymous}};
}

std::uint64_t number(const std::string& bytes, std::size_t at, int size) {
  std::uint64_t value = 0;
  for (int i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

template <class Format>
void expect_found(std::span<const Format> formats, const char* absent) {
  for (const Format& format : formats) EXPECT_EQ(find(formats, format.name), &format);
  EXPECT_EQ(find(formats, absent), nullptr);
}

TEST(Formats, AreFoundByTheirNames) {
  expect_found(coverage_formats(), "drcov9");
  expect_found(findings_formats(), "text");
  expect_found(graph_formats(), "cfg");
  expect_found(timeline_formats(), "perf");
  expect_found(tree_formats(), "flame");
  expect_found(jumps_formats(), "");
}

TEST(Drcov, Version2) {
  std::string file = write("drcov2", sample());
  EXPECT_TRUE(
      file.starts_with("DRCOV VERSION: 2\n"
                       "DRCOV FLAVOR: drcov-64\n"
                       "Module Table: version 4, count 2\n"
                       "Columns: id, containing_id, start, end, entry, offset, path\n"
                       "  0,   0, 0x0000004000400000, 0x0000004000405000, 0x0000000000000000, "
                       "0x0000000000000000, /bin/prog,?1\n"
                       "  1,   1, 0x00007fff00000000, 0x0000800000000000, 0x0000000000000000, "
                       "0x0000000000000000, [anon]\n"
                       "BB Table: 5 bbs\n"))
      << file;
  std::size_t table = file.find(" bbs\n") + 5;
  ASSERT_EQ(file.size(), table + 5 * 8);
  struct Entry {
    std::uint64_t start, size, module;
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> entries;
  for (std::size_t at = table; at < file.size(); at += 8) {
    entries.push_back({number(file, at, 4), number(file, at + 4, 2), number(file, at + 6, 2)});
  }
  EXPECT_EQ(entries[0], (Entry{0x1000, 5, 0}));
  EXPECT_EQ(entries[1], (Entry{0x1005, 65535, 0})) << "sizes have 16 bits";
  EXPECT_EQ(entries[2], (Entry{0x1005 + 65535, 70000 - 65535, 0}));
  EXPECT_EQ(entries[3], (Entry{0xf0001000, 4, 1}));
  EXPECT_EQ(entries[4], (Entry{0x10, 6, 1}));
}

TEST(Drcov, Version3HasPreferredBases) {
  std::string file = write("drcov", sample());
  EXPECT_TRUE(file.starts_with(
      "DRCOV VERSION: 3\n"
      "DRCOV FLAVOR: drcov-64\n"
      "Module Table: version 5, count 2\n"
      "Columns: id, containing_id, start, end, entry, offset, preferred_base, path\n"
      "  0,   0, 0x0000004000400000, 0x0000004000405000, 0x0000000000000000, "
      "0x0000000000000000, 0x0000000000400000, /bin/prog,?1\n"))
      << file;
}

TEST(Lcov, Tracefile) {
  std::string file = write("lcov", sample(),
                           {.wanted = [](const std::string& path) { return path == "/src/a.cc"; }});
  EXPECT_EQ(file,
            "TN:\n"
            "SF:/src/a.cc\n"
            "FN:7,_Z1fi\n"
            "FN:20,g\n"
            "FNDA:2,_Z1fi\n"
            "FNDA:0,g\n"
            "FNF:2\n"
            "FNH:1\n"
            "BRDA:7,0,0,300\n"
            "BRDA:7,0,1,7\n"
            "BRDA:9,0,0,-\n"
            "BRDA:9,0,1,-\n"
            "BRF:4\n"
            "BRH:2\n"
            "DA:7,2\n"
            "DA:9,0\n"
            "LF:2\n"
            "LH:1\n"
            "end_of_record\n");
}

// genhtml 2 refuses a file in which a line has branches and no count.
TEST(Lcov, EveryLineWithABranchIsCounted) {
  Coverage coverage = sample();
  coverage.modules[0].branches.push_back({0x403000, 0, 11, 4, 1});
  const std::string file = write("lcov", coverage);
  EXPECT_NE(file.find("BRDA:11,0,0,4\nBRDA:11,0,1,1\n"), file.npos) << file;
  EXPECT_NE(file.find("DA:9,0\nDA:11,5\nLF:3\nLH:2\n"), file.npos) << file;
}

TEST(EdgeMap, SaturatesAndDoesNotDependOnTheBase) {
  Coverage coverage = sample();
  const std::string map = write("bitmap", coverage, {.map_size = 64});
  ASSERT_EQ(map.size(), 64u);
  EXPECT_EQ(std::ranges::count(map, '\xff'), 1);
  EXPECT_EQ(std::ranges::count(map, '\0'), 63);
  coverage.modules[0].base = 0x123000;
  EXPECT_EQ(map, write("bitmap", coverage, {.map_size = 64}));
}

TEST(EdgeMap, CodeInNoFileCountsAsTheDecoderCountsIt) {
  Coverage coverage{.modules = {{.path = ""}}};
  coverage.modules[0].edges = {{0x1234, 0x5678, 0, 3, BranchKind::jmp, false}};
  const std::string map = write("bitmap", coverage, {.map_size = 1024});
  EXPECT_EQ(map[flow::Bitmap::index(0x1234, 0x5678, 1024)], 3);
}

}  // namespace
}  // namespace hodo::exports
