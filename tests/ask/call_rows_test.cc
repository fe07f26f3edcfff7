// Rows of calls in a file of a store.
#include "call_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <tuple>
#include <utility>

namespace hodo::ask {
namespace {

constexpr std::uint64_t kLargest = ~std::uint64_t{0};
using Bytes = std::vector<std::uint8_t>;

// A file: parts have their number for an offset.
struct Kept {
  Bytes head;
  std::vector<Bytes> parts;
};

class Writer final : public CallStore::Writer {
 public:
  explicit Writer(Kept& to) : to_(to) {}
  std::optional<CallStore::Part> add(std::span<const std::uint8_t> part) override {
    to_.parts.emplace_back(part.begin(), part.end());
    return CallStore::Part{to_.parts.size() - 1, 1, part.size()};
  }
  std::uint64_t bytes() const override { return to_.parts.size(); }
  void finish(std::span<const std::uint8_t> head) override {
    to_.head.assign(head.begin(), head.end());
  }

 private:
  Kept& to_;
};

class File final : public CallStore::File {
 public:
  explicit File(const Kept& kept) : kept_(kept) {}
  std::span<const std::uint8_t> head() const override { return kept_.head; }
  std::uint64_t bytes() const override { return kept_.head.size(); }
  std::optional<Bytes> part(const CallStore::Part& part) const override {
    if (part.offset >= kept_.parts.size()) return std::nullopt;
    return kept_.parts[static_cast<std::size_t>(part.offset)];
  }

 private:
  const Kept& kept_;
};

// Files of so many bytes, and room for so many of all.
class Store final : public CallStore {
 public:
  Store(std::array<std::uint64_t, kFiles> sizes, std::uint64_t room) : sizes_(sizes), room_(room) {}
  std::unique_ptr<const CallStore::File> open(unsigned file) override {
    class Sized final : public CallStore::File {
     public:
      Sized(Kept kept, std::uint64_t bytes) : kept_(std::move(kept)), file_(kept_), bytes_(bytes) {}
      std::span<const std::uint8_t> head() const override { return file_.head(); }
      std::uint64_t bytes() const override { return bytes_; }
      std::optional<Bytes> part(const Part& part) const override { return file_.part(part); }

     private:
      Kept kept_;
      ask::File file_;
      std::uint64_t bytes_;
    };
    if (sizes_[file] == 0) return nullptr;
    return std::make_unique<Sized>(numbered(file), sizes_[file]);
  }
  std::unique_ptr<CallStore::Writer> write(unsigned /*file*/) override { return nullptr; }
  void forget(unsigned file) override { sizes_[file] = 0; }
  std::uint64_t room() const override { return room_; }
  std::size_t least_segments() const override { return 1; }
  const std::array<std::uint64_t, kFiles>& sizes() const { return sizes_; }

 private:
  static Kept numbered(unsigned number);
  std::array<std::uint64_t, kFiles> sizes_;
  std::uint64_t room_;
};

std::optional<CallRowsReader> open(const Kept& kept) {
  return CallRowsReader::open(std::make_unique<File>(kept));
}

std::vector<KeptFunction> functions() {
  return {{.function = {.name = "main", .object = "/bin/a"}, .called = true, .rows = 1},
          {.function = {.name = "often", .object = "/bin/a"}, .called = true},
          {.function = {.name = "[a+0x10]", .synthetic = true}, .called = true, .rows = 2}};
}

// Two threads, the least and the largest numbers, and a caller that nobody knows.
std::vector<KeptRow> some_rows() {
  using Outcome = CallRow::Outcome;
  return {{.row = {.at = {{.tid = 7}, 3, 0},
                   .until = {{.tid = 7}, 3, 0},
                   .pid = -1,
                   .function = 2,
                   .caller = kNobody,
                   .outcome = Outcome::lost},
           .visit = 2},
          {.row = {.at = {{.queue = 5}, kLargest, 0},
                   .until = {{.queue = 5}, kLargest, 0},
                   .pid = 7,
                   .time = kLargest,
                   .duration = kLargest,
                   .instructions = kLargest,
                   .function = 0,
                   .caller = 2,
                   .site = kLargest,
                   .space = ~std::uint32_t{0},
                   .ticks = kLargest,
                   .outcome = Outcome::open},
           .visit = ~std::uint32_t{0}},
          {.row = {.at = {{.tid = 7}, 1, 0},
                   .until = {{.tid = 7}, 9, 0},
                   .pid = -1,
                   .time = 1,
                   .function = 2,
                   .caller = 0,
                   .site = 0x401000,
                   .outcome = Outcome::returned},
           .visit = 1}};
}

Kept written(std::span<const KeptRow> rows, std::span<const KeptFunction> all) {
  Kept out;
  CallRowsWriter writer(std::make_unique<Writer>(out));
  for (const KeptRow& kept : rows) writer.add(kept.row, kept.visit);
  writer.finish(all, 3);
  return out;
}
Kept written() { return written(some_rows(), functions()); }

Kept Store::numbered(unsigned number) {
  Kept out;
  CallRowsWriter writer(std::make_unique<ask::Writer>(out));
  writer.finish({}, number);
  return out;
}

auto fields(const KeptRow& kept) {
  const CallRow& row = kept.row;
  return std::tuple(kept.visit, row.at, row.until, row.pid, row.time, row.duration,
                    row.instructions, row.function, row.caller, row.site, row.space, row.ticks,
                    row.outcome);
}

TEST(CallRows, AreReadByFunction) {
  const Kept file = written();
  const auto all = open(file);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->number(), 3u);
  ASSERT_EQ(all->functions().size(), 3u);
  EXPECT_EQ(all->functions()[2].function.name, "[a+0x10]");
  EXPECT_TRUE(all->functions()[2].function.synthetic);
  EXPECT_TRUE(all->functions()[1].called);
  EXPECT_FALSE(all->functions()[1].rows);
  std::vector<KeptRow> read;
  ASSERT_TRUE(all->read(2, read));
  ASSERT_TRUE(all->read(0, read));
  const auto rows = some_rows();
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(fields(read[0]), fields(rows[0]));
  EXPECT_EQ(fields(read[1]), fields(rows[2]));
  EXPECT_EQ(fields(read[2]), fields(rows[1]));
}

// Many chunks in several parts, none of which has rows of a function that was dropped meanwhile or
// is not wanted at the end.
TEST(CallRows, OfManyCallsAreInParts) {
  constexpr std::size_t kMany = 20'000;
  std::vector<KeptRow> rows;
  Kept file;
  CallRowsWriter writer(std::make_unique<Writer>(file));
  for (std::size_t i = 0; i < kMany; ++i) {
    KeptRow kept{.row = {.at = {{.tid = 7}, i * i, 0},
                         .until = {{.tid = 7}, i * i + i, 0},
                         .pid = 7,
                         .time = i / 3,
                         .function = 2,
                         .caller = 0,
                         .site = 0x401000 + i % 7}};
    writer.add(kept.row, 0);
    rows.push_back(kept);
    kept.row.function = 1;
    writer.add(kept.row, 0);
    if (i == kMany / 2) writer.drop(1);
  }
  EXPECT_EQ(writer.rows_of(2), kMany);
  EXPECT_EQ(writer.rows_of(1), kMany - kMany / 2 - 1);
  auto all = functions();
  all[0].rows.reset();
  writer.finish(all, 1);
  EXPECT_GT(file.parts.size(), 3u);
  for (const Bytes& part : file.parts) EXPECT_LE(part.size(), CallStore::kLargestPart);
  const auto reader = open(file);
  ASSERT_TRUE(reader);
  std::vector<KeptRow> read;
  ASSERT_TRUE(reader->read(2, read));
  ASSERT_EQ(read.size(), kMany);
  for (std::size_t i = 0; i < kMany; ++i) ASSERT_EQ(fields(read[i]), fields(rows[i])) << i;
}

TEST(CallRows, CutOffAnywhereAreRefused) {
  const Kept file = written();
  for (std::size_t size = 0; size < file.head.size(); ++size) {
    Kept cut = file;
    cut.head.resize(size);
    EXPECT_FALSE(open(cut)) << size;
  }
  for (std::size_t size = 0; size < file.parts[0].size(); ++size) {
    Kept cut = file;
    cut.parts[0].resize(size);
    std::vector<KeptRow> read;
    EXPECT_FALSE(open(cut)->read(2, read)) << size;
  }
}

// Whatever a byte becomes: callers are functions that there are, and no room is taken for rows that
// cannot be there.
TEST(CallRows, AnyByteMayBeAnother) {
  const Kept file = written();
  const auto look = [](const Kept& bad) {
    const auto all = open(bad);
    if (!all) return;
    std::vector<KeptRow> read;
    for (std::uint32_t i = 0; i < all->functions().size(); ++i) {
      if (all->functions()[i].rows) (void)all->read(i, read);
    }
    EXPECT_LE(read.size(), bad.parts[0].size());
    for (const KeptRow& kept : read) {
      EXPECT_TRUE(kept.row.caller == kNobody || kept.row.caller < all->functions().size());
      EXPECT_LE(kept.row.outcome, CallRow::Outcome::open);
    }
  };
  for (unsigned value = 0; value < 256; ++value) {
    for (std::size_t at = 0; at < file.head.size(); ++at) {
      Kept bad = file;
      bad.head[at] = static_cast<std::uint8_t>(value);
      look(bad);
    }
    for (std::size_t at = 0; at < file.parts[0].size(); ++at) {
      Kept bad = file;
      bad.parts[0][at] = static_cast<std::uint8_t>(value);
      look(bad);
    }
  }
}

TEST(CallRows, WhatThereIsNoRoomForIsForgotten) {
  static_assert(CallStore::kFiles >= 3 && CallStore::kOfIndex == 0);
  const auto kept = [](std::uint64_t room) {
    Store store({60, 10, 30}, room);
    keep_within_room(store);
    return store.sizes();
  };
  using Sizes = std::array<std::uint64_t, CallStore::kFiles>;
  EXPECT_EQ(kept(100), (Sizes{60, 10, 30}));
  EXPECT_EQ(kept(99), (Sizes{60, 0, 30}));  // the newest stays
  EXPECT_EQ(kept(75), (Sizes{60, 10, 0}));
  EXPECT_EQ(kept(50), (Sizes{0, 10, 30}));  // the index's own goes where it has no room alone
  EXPECT_EQ(kept(0), (Sizes{}));
}

}  // namespace
}  // namespace hodo::ask
