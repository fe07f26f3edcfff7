// What is found of an end by the page that it lies in.
#include "text_pages.h"

#include <gtest/gtest.h>

#include "small_program.h"

namespace hodo::check {
namespace {

constexpr std::uint64_t kFirst = kBase + text::kText;
constexpr std::uint64_t kLast = kFirst + kPage - 1;

class TextPagesTest : public testing::Test {
 protected:
  End end(std::uint64_t address) const {
    return {.kind = End::Kind::file,
            .address = address,
            .region = 3,
            .vaddr = address - kBase,
            .module = module_.get()};
  }
  bool keeps(const End& first, const End& last) {
    TextPages pages;
    pages.add(1, 10, 20, first, last);
    return pages.find(1, kFirst, 10).has_value();
  }

  std::shared_ptr<const text::Module> module_ = *text::Module::analyze(program().build());
};

TEST_F(TextPagesTest, AnEndHasItsOwnPlaceAndMarks) {
  TextPages pages;
  pages.add(1, 10, 20, end(kFirst), end(kLast));
  const auto found = pages.find(1, kFirst + 0x10, 15);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->address, kFirst + 0x10);
  EXPECT_EQ(found->vaddr, text::kText + 0x10);
  EXPECT_EQ(found->marks, module_->marks(text::kText + 0x10));
  EXPECT_TRUE(found->has(text::kStart));
  EXPECT_EQ(found->region, 3u);
}

TEST_F(TextPagesTest, HoldForOneSpaceAndAsLongAsWasSaid) {
  TextPages pages;
  pages.add(1, 10, 20, end(kFirst), end(kLast));
  EXPECT_TRUE(pages.find(1, kLast, 10));
  EXPECT_TRUE(pages.find(1, kLast, 19));
  EXPECT_FALSE(pages.find(1, kLast, 9));
  EXPECT_FALSE(pages.find(1, kLast, 20));
  EXPECT_FALSE(pages.find(2, kLast, 10));
  EXPECT_FALSE(pages.find(1, kLast + 1, 10));
  EXPECT_FALSE(pages.find(1, kFirst - 1, 10));
  pages.clear();
  EXPECT_FALSE(pages.find(1, kLast, 10));
}

TEST_F(TextPagesTest, OnlyTextOfOneMappingAsItsFileHasItIsKept) {
  EXPECT_TRUE(keeps(end(kFirst), end(kLast)));
  const auto with = [&](auto change) {
    End first = end(kFirst);
    change(first);
    End last = end(kLast);
    change(last);
    return keeps(first, last);
  };
  EXPECT_FALSE(with([](End& e) { e.in_kept = true; }));
  EXPECT_FALSE(with([](End& e) { e.generated = true; }));
  EXPECT_FALSE(with([](End& e) { e.kind = End::Kind::unread; }));
  EXPECT_FALSE(with([](End& e) { e.writing = session::Region::Writing::before; }));
  End other = end(kLast);
  other.region = 4;
  EXPECT_FALSE(keeps(end(kFirst), other));
  other = end(kLast);
  other.vaddr += kPage;  // another segment
  EXPECT_FALSE(keeps(end(kFirst), other));
  other = end(kLast);
  other.kind = End::Kind::data;
  EXPECT_FALSE(keeps(end(kFirst), other));
}

}  // namespace
}  // namespace hodo::check
