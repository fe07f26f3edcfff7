#include "hodo/guest/btf.h"

#include <gtest/gtest.h>

#include <cstring>

namespace hodo::guest {
namespace {

// Writes BTF as pahole lays it out.
class Writer {
 public:
  std::uint32_t name(std::string_view text) {
    const auto offset = static_cast<std::uint32_t>(strings_.size());
    strings_.append(text).push_back('\0');
    return offset;
  }
  // Returns the type's number.
  std::uint32_t type(std::uint32_t name, std::uint32_t kind, std::uint32_t count,
                     std::vector<std::uint32_t> tail, bool bit_sizes = false) {
    put(name), put(kind << 24 | count | std::uint32_t{bit_sizes} << 31), put(8);
    for (const std::uint32_t word : tail) put(word);
    return ++number_;
  }
  std::vector<std::uint8_t> finish() const {
    std::vector<std::uint8_t> out = {0x9f, 0xeb, 1, 0};
    for (const std::size_t word :
         {std::size_t{24}, std::size_t{0}, types_.size(), types_.size(), strings_.size()}) {
      const auto value = static_cast<std::uint32_t>(word);
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
      out.insert(out.end(), bytes, bytes + 4);
    }
    out.insert(out.end(), types_.begin(), types_.end());
    out.insert(out.end(), strings_.begin(), strings_.end());
    return out;
  }

 private:
  void put(std::uint32_t word) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&word);
    types_.insert(types_.end(), bytes, bytes + 4);
  }
  std::vector<std::uint8_t> types_;
  std::string strings_ = std::string(1, '\0');
  std::uint32_t number_ = 0;
};

constexpr std::uint32_t kInt = 1, kStruct = 4, kUnion = 5, kFuncProto = 13;

// struct inner { int a; };  struct mm_struct { struct { int b; union { int c; int d; }; }; int e; }
std::vector<std::uint8_t> sample() {
  Writer w;
  const auto number = w.type(w.name("int"), kInt, 0, {0x20});
  w.type(0, kFuncProto, 2, {0, number, 0, number});
  w.type(w.name("inner"), kStruct, 1, {w.name("a"), number, 0});
  const auto part = w.type(0, kUnion, 2, {w.name("c"), number, 0, w.name("d"), number, 0});
  const auto unnamed = w.type(0, kStruct, 2, {w.name("b"), number, 0, 0, part, 64});
  w.type(w.name("mm_struct"), kStruct, 2, {0, unnamed, 128, w.name("e"), number, 256});
  return w.finish();
}

TEST(Btf, FindsMembersAlsoInUnnamedParts) {
  const auto bytes = sample();
  const auto btf = Btf::parse(bytes);
  ASSERT_TRUE(btf) << btf.error().message;
  EXPECT_EQ(btf->offset_of("inner", "a"), 0);
  EXPECT_EQ(btf->offset_of("mm_struct", "e"), 32);
  EXPECT_EQ(btf->offset_of("mm_struct", "b"), 16);
  EXPECT_EQ(btf->offset_of("mm_struct", "d"), 24);
}

TEST(Btf, KnowsNothingOfOtherNames) {
  const auto bytes = sample();
  const auto btf = Btf::parse(bytes);
  ASSERT_TRUE(btf);
  EXPECT_FALSE(btf->offset_of("mm_struct", "a"));
  EXPECT_FALSE(btf->offset_of("int", "a"));
}

TEST(Btf, LeavesBitFieldsOut) {
  Writer w;
  const auto number = w.type(w.name("int"), kInt, 0, {0x20});
  w.type(w.name("s"), kStruct, 2,
         {w.name("bit"), number, 1U << 24 | 8, w.name("whole"), number, 64}, true);
  const auto bytes = w.finish();
  const auto btf = Btf::parse(bytes);
  ASSERT_TRUE(btf);
  EXPECT_FALSE(btf->offset_of("s", "bit"));
  EXPECT_EQ(btf->offset_of("s", "whole"), 8);
}

TEST(Btf, EndsAtUnnamedPartsThatContainEachOther) {
  Writer w;
  w.type(w.name("s"), kStruct, 1, {0, 2, 0});
  w.type(0, kStruct, 2, {0, 2, 0, 0, 2, 0});
  const auto bytes = w.finish();
  const auto btf = Btf::parse(bytes);
  ASSERT_TRUE(btf);
  EXPECT_FALSE(btf->offset_of("s", "x"));
}

TEST(Btf, RefusesEveryTruncation) {
  const auto bytes = sample();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Btf::parse(std::span(bytes).first(size))) << size;
  }
}

TEST(Btf, RefusesOtherVersionsAndKinds) {
  auto bytes = sample();
  bytes[2] = 2;
  EXPECT_EQ(Btf::parse(bytes).error().code, ErrorCode::unsupported);
  bytes = sample();
  bytes[24 + 7] = 31;  // the first type's kind
  EXPECT_EQ(Btf::parse(bytes).error().code, ErrorCode::malformed);
}

}  // namespace
}  // namespace hodo::guest
