#include "hodo/symbol/jit.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace hodo::symbol {
namespace {

std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(PerfMap, LinesOfStartSizeAndName) {
  const auto functions = read_perf_map(
      bytes_of("7f0010 20 LazyCompile:*add /a.js:1\n0x7F0030 0x1 b\nnonsense\n10 0 empty\n"
               "ffffffffffffffff 2 wraps\n40 8\n50 8 last"));
  ASSERT_EQ(functions.size(), 3u);
  EXPECT_EQ(functions[0].address, 0x7f0010u);
  EXPECT_EQ(functions[0].size, 0x20u);
  EXPECT_EQ(functions[0].name, "LazyCompile:*add /a.js:1");
  EXPECT_EQ(functions[1].address, 0x7f0030u);
  EXPECT_EQ(functions[2].name, "last");
}

// A jitdump made of 64-bit words, each record's size put in by hand.
class Dump {
 public:
  explicit Dump(std::uint32_t version = 1, std::uint32_t machine = 62, std::uint64_t flags = 0) {
    half(0x4a695444, version).half(40, machine).half(0, 4711).word(9).word(flags);
  }
  Dump& load(std::uint64_t time, std::uint64_t address, std::uint64_t index,
             const std::string& name, const std::string& code) {
    half(0, static_cast<std::uint32_t>(16 + 40 + name.size() + 1 + code.size())).word(time);
    half(4711, 4712).word(address).word(address).word(code.size()).word(index);
    text_ += name + std::string(1, 0) + code;
    return *this;
  }
  Dump& move(std::uint64_t time, std::uint64_t to, std::uint64_t index) {
    half(1, 16 + 48).word(time).half(4711, 4712).word(0).word(0).word(to).word(1).word(index);
    return *this;
  }
  Dump& other(std::uint32_t id) {
    half(id, 24).word(0).word(0);
    return *this;
  }
  const std::string& text() const { return text_; }
  std::string& text() { return text_; }

 private:
  Dump& half(std::uint32_t a, std::uint32_t b) { return word(a | std::uint64_t{b} << 32); }
  Dump& word(std::uint64_t value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  std::string text_;
};

TEST(Jitdump, LoadsAndMoves) {
  Dump dump;
  dump.load(100, 0x1000, 7, "f", "abc").other(2).load(200, 0x2000, 8, "g", "de");
  dump.move(300, 0x3000, 7).move(310, 0x4000, 99).other(4);
  const auto read = read_jitdump(bytes_of(dump.text()));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->pid, 4711u);
  EXPECT_FALSE(read->ticks);
  EXPECT_FALSE(read->cut_off);
  ASSERT_EQ(read->functions.size(), 3u) << "what was never loaded cannot move";
  EXPECT_EQ(read->functions[0].time, 100u);
  EXPECT_EQ(read->functions[0].address, 0x1000u);
  EXPECT_EQ(std::memcmp(read->functions[0].code.data(), "abc", 3), 0);
  EXPECT_EQ(read->functions[1].name, "g");
  EXPECT_EQ(read->functions[2].address, 0x3000u);
  EXPECT_EQ(read->functions[2].name, "f");
  EXPECT_EQ(read->functions[2].code.size(), 3u);
}

TEST(Jitdump, TimesMayBeTicks) {
  EXPECT_TRUE(read_jitdump(bytes_of(Dump(1, 62, 1).text()))->ticks);
}

TEST(Jitdump, SaysWhatItCannotRead) {
  EXPECT_EQ(read_jitdump(bytes_of("JiTD")).error().code, ErrorCode::malformed);
  EXPECT_EQ(read_jitdump({}).error().code, ErrorCode::malformed);
  EXPECT_EQ(read_jitdump(bytes_of(Dump(2).text())).error().code, ErrorCode::unsupported);
  EXPECT_EQ(read_jitdump(bytes_of(Dump(1, 183).text())).error().code, ErrorCode::unsupported);
}

TEST(Jitdump, WhatIsCutOffKeepsWhatCameBefore) {
  Dump dump;
  dump.load(100, 0x1000, 7, "f", "abc");
  const std::size_t whole = dump.text().size();
  dump.load(200, 0x2000, 8, "g", "de");
  for (std::size_t size = whole + 1; size < dump.text().size(); ++size) {
    const auto read = read_jitdump(bytes_of(dump.text().substr(0, size)));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->functions.size(), 1u) << size;
    EXPECT_TRUE(read->cut_off) << size;
  }
  EXPECT_EQ(read_jitdump(bytes_of(dump.text()))->functions.size(), 2u);
}

// Whatever the bytes are, functions lie within the address space and their code within the file.
TEST(Jitdump, AnyBytes) {
  Dump dump;
  for (std::uint64_t i = 0; i < 20; ++i) {
    dump.load(i, 0x1000 * i, i, "name", "some code").move(i, 0x500 * i, i);
  }
  std::mt19937_64 random(11);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = dump.text().substr(0, random() % (dump.text().size() + 1));
    for (int i = 0; i < 4 && !text.empty(); ++i) {
      text[40 % text.size() + random() % (text.size() - 40 % text.size())] =
          static_cast<char>(random());
    }
    const auto read = read_jitdump(bytes_of(text));
    if (!read) continue;
    for (const JitFunction& f : read->functions) {
      ASSERT_NE(f.size, 0u);
      ASSERT_LE(f.size - 1, ~f.address);
      ASSERT_EQ(f.code.size(), f.size);
      ASSERT_GE(f.code.data(), bytes_of(text).data());
      ASSERT_LE(f.code.data() + f.code.size(), bytes_of(text).data() + text.size());
    }
  }
}

}  // namespace
}  // namespace hodo::symbol
