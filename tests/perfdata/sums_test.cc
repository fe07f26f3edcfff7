// Sums of trace data and of records: what has changed since it was written is found, where it lies
// and no more.
#include "hodo/perfdata/sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "file_builder.h"
#include "hodo/perfdata/model.h"
#include "hodo/perfdata/writer.h"
#include "sample_trace.h"
#include "temp_dir.h"

namespace hodo::perfdata {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kBlock = BlockSums::kBlock;

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// RFC 3720, B.4, and the check value of the catalogue of CRCs.
TEST(Crc32c, GivesThePublishedSums) {
  const std::vector<std::uint8_t> zeros(32), ones(32, 0xff);
  for (const bool by_instruction : {false, has_crc_instruction()}) {
    EXPECT_EQ(crc32c(bytes_of("123456789"), 0, by_instruction), 0xe3069283u);
    EXPECT_EQ(crc32c(zeros, 0, by_instruction), 0x8a9136aau);
    EXPECT_EQ(crc32c(ones, 0, by_instruction), 0x62a8ab43u);
    EXPECT_EQ(crc32c({}, 0, by_instruction), 0u);
    const std::uint32_t begun = crc32c(bytes_of("12345"), 0, by_instruction);
    EXPECT_EQ(crc32c(bytes_of("6789"), begun, by_instruction), 0xe3069283u);
  }
}

TEST(BlockSums, DoNotDependOnHowTheDataComes) {
  std::vector<std::uint8_t> data(100);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i);
  BlockSums whole(24), pieces(24);
  whole.add(data);
  std::span<const std::uint8_t> rest = data;
  for (const std::size_t size : {1, 23, 24, 0, 30, 22}) {
    pieces.add(rest.first(size));
    rest = rest.subspan(size);
  }
  const auto sums = whole.finish();
  EXPECT_EQ(sums.size(), 5u);
  EXPECT_EQ(sums[4], crc32c(std::span(data).subspan(96)));
  EXPECT_EQ(pieces.finish(), sums);
}

// A file with one piece of trace of so many bytes, none of them zero.
class SumsTest : public ::testing::Test {
 protected:
  Bytes written(std::size_t size, WriterOptions options = sample_options()) {
    auto writer = Writer::create(dir_.file("hodo.data"), std::move(options));
    EXPECT_TRUE(writer) << writer.error().message;
    EXPECT_TRUE(writer->comm({.pid = 1, .tid = 1, .comm = "sample", .exec = true}, {1, 1, 100, 0}));
    std::vector<std::uint8_t> trace(size);
    std::mt19937 random(1);
    for (auto& byte : trace) byte = static_cast<std::uint8_t>(1 + random() % 255);
    const std::span<const std::uint8_t> bytes = trace;
    EXPECT_TRUE(writer->auxtrace({.tid = 1}, {&bytes, 1}));
    EXPECT_TRUE(writer->finish("{}"));
    return slurp(dir_.file("hodo.data"));
  }
  Model load(Bytes file) {
    readers_.push_back(*Reader::open_memory(files_.emplace_back(std::move(file))));
    return *Model::load(readers_.back());
  }
  std::vector<Stretch> altered_in(Bytes file) {
    const Model model = load(std::move(file));
    const auto found = altered(model.reader(), model.queues().at(0).pieces.at(0));
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(std::vector<Stretch>{});
  }
  std::uint64_t data_offset(const Bytes& file) {
    return load(file).queues().at(0).pieces.at(0).file_offset;
  }

  TempDir dir_;
  std::deque<Bytes> files_;
  std::deque<Reader> readers_;
};

TEST_F(SumsTest, NothingIsAlteredInWhatWasWritten) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{kBlock - 1}, std::size_t{kBlock},
                                 std::size_t{kBlock + 1}, std::size_t{300 * kBlock + 5}}) {
    EXPECT_THAT(altered_in(written(size)), IsEmpty()) << size;
    EXPECT_EQ(load(files_.back()).damage_count(), 0u);
  }
}

// Blocks   |    0    |    1    |  2  |pad|
// Changed   ^ first   ^first    ^ last byte of the trace
//                   ^ last
TEST_F(SumsTest, OneBitAltersItsBlockAndNoOther) {
  const std::uint64_t size = 2 * kBlock + 101;
  const Bytes file = written(size);
  const std::uint64_t data = data_offset(file);
  const auto changed = [&](std::uint64_t at) {
    Bytes copy = file;
    copy[data + at] ^= 0x10;
    return altered_in(std::move(copy));
  };
  EXPECT_THAT(changed(0), ElementsAre(Stretch{0, kBlock}));
  EXPECT_THAT(changed(kBlock - 1), ElementsAre(Stretch{0, kBlock}));
  EXPECT_THAT(changed(kBlock), ElementsAre(Stretch{kBlock, kBlock}));
  const auto last = changed(size - 1);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].begin, 2 * kBlock);
  Bytes both = file;
  both[data + 5] ^= 1;
  both[data + kBlock + 5] ^= 1;
  EXPECT_THAT(altered_in(std::move(both)), ElementsAre(Stretch{0, 2 * kBlock}));
}

// Blocks are compared in groups.
TEST_F(SumsTest, InALongPieceEachBlockIsFound) {
  const std::uint64_t blocks = 600;
  const Bytes file = written(blocks * kBlock);
  const std::uint64_t data = data_offset(file);
  Bytes copy = file;
  std::vector<Stretch> expected;
  for (const std::uint64_t block : {0, 255, 256, 511, 599}) {
    copy[data + block * kBlock + 7] ^= 0x80;
    if (block == 256) {
      expected.back().size += kBlock;
    } else {
      expected.push_back({block * kBlock, kBlock});
    }
  }
  EXPECT_EQ(altered_in(std::move(copy)), expected);
}

// Stretches begin and end anywhere in blocks, and their bytes come in any portions.
TEST_F(SumsTest, OfAStretchItsOwnBlocksAreFound) {
  const std::uint64_t size = 7 * kBlock + 13;
  Bytes copy = written(size);
  const std::uint64_t data = data_offset(copy);
  for (const std::uint64_t block : {1, 2, 5}) copy[data + block * kBlock + 7] ^= 0x80;
  const Model model = load(copy);
  const AuxPiece& piece = model.queues().at(0).pieces.at(0);
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t begin = random() % size;
    const Stretch stretch{begin, 1 + random() % (piece.size - begin)};
    auto check = SumCheck::begin(model.reader(), piece, stretch);
    ASSERT_TRUE(check) << check.error().message;
    std::span<const std::uint8_t> rest = std::span(copy).subspan(data + begin, stretch.size);
    while (!rest.empty()) {
      const std::size_t portion = std::min<std::size_t>(rest.size(), 1 + random() % 12000);
      check->add(rest.first(portion));
      rest = rest.subspan(portion);
    }
    std::vector<Stretch> expected;
    for (const auto& [from, to] : {std::pair(1 * kBlock, 3 * kBlock), {5 * kBlock, 6 * kBlock}}) {
      const std::uint64_t first = std::max(from, begin);
      const std::uint64_t last = std::min(to, begin + stretch.size);
      if (first < last) expected.push_back({first, last - first});
    }
    EXPECT_EQ(check->finish(), expected) << begin << " + " << stretch.size;
  }
}

// A reader would need as much memory as the block is long.
TEST_F(SumsTest, BlocksOfAnySizeAreNotBelieved) {
  Bytes file = written(3 * kBlock);
  const std::uint64_t data = data_offset(file);
  const std::array<std::uint8_t, 4> block = {kBlock & 0xff, kBlock >> 8, 0, 0};
  const auto record = file.begin() + static_cast<std::ptrdiff_t>(data) - 40;
  const auto word = std::search(record, record + 40, block.begin(), block.end());
  ASSERT_NE(word, record + 40);
  word[3] = 0x7f;
  const Model model = load(file);
  EXPECT_EQ(model.queues().at(0).pieces.at(0).sums.block, 0u);
  EXPECT_EQ(model.damage_count(), 2u);  // and the records are not those that were written
}

// The sums may be what was changed: then their blocks cannot be believed.
TEST_F(SumsTest, AChangedSumAltersItsBlock) {
  Bytes file = written(3 * kBlock);
  const Model model = load(file);
  file[model.queues().at(0).pieces.at(0).sums.offset + 4] ^= 1;
  EXPECT_THAT(altered_in(std::move(file)), ElementsAre(Stretch{kBlock, kBlock}));
}

TEST_F(SumsTest, AFileThatIsCutOffHasNoAlteredBlock) {
  const Bytes file = written(3 * kBlock);
  const std::uint64_t data = data_offset(file);
  for (const std::uint64_t left : {std::uint64_t{1}, kBlock - 1, kBlock, 2 * kBlock + 1}) {
    EXPECT_THAT(altered_in(Bytes(file.begin(), file.begin() + static_cast<long>(data + left))),
                IsEmpty())
        << left;
  }
}

TEST_F(SumsTest, SumsThatDoNotFitTheirRecordAreDamage) {
  Bytes file = written(3 * kBlock);
  const AuxPiece piece = load(file).queues().at(0).pieces.at(0);
  const std::uint64_t block_at = piece.sums.offset - 4;
  file[block_at] = 8;
  file[block_at + 1] = 0;
  const Model model = load(std::move(file));
  EXPECT_EQ(model.queues().at(0).pieces.at(0).sums.block, 0u);
  EXPECT_GT(model.damage_count(), 0u);
}

// Every byte of every record, one bit each.
TEST_F(SumsTest, AChangeOfAnyRecordIsDamage) {
  const Bytes file = written(kBlock);
  const AuxPiece piece = load(file).queues().at(0).pieces.at(0);
  constexpr std::uint64_t kDataSection = 40;  // in the header: offset, size
  std::uint64_t begin = 0;
  std::memcpy(&begin, file.data() + kDataSection, sizeof(begin));
  for (std::uint64_t at = begin; at < piece.file_offset; ++at) {
    Bytes copy = file;
    copy[at] ^= static_cast<std::uint8_t>(1 << at % 8);
    auto reader = Reader::open_memory(copy);
    if (!reader) continue;
    const auto model = Model::load(*reader);
    ASSERT_TRUE(model);
    EXPECT_GT(model->damage_count(), 0u) << at;
  }
}

}  // namespace
}  // namespace hodo::perfdata
