// Memory without a file: which name a part of it has, and that each part is told once.
#include "areas.h"

#include <gtest/gtest.h>

namespace hodo::plugin {
namespace {

struct Told {
  std::uint64_t start = 0, end = 0;
  std::string_view name;
  bool operator==(const Told&) const = default;
};

Told tell(Areas& areas, std::uint64_t address, Areas::Range mapped) {
  const auto area = areas.tell(address, mapped);
  return area ? Told{area->range.start, area->range.end, area->name} : Told{};
}

constexpr Told kNothing{};

//   0x1000   0x3000  0x5000    0x9000
//   | anon   | heap  | anon ...|         one mapping
TEST(Areas, CallTheHeapWhatBrkReturned) {
  Areas areas;
  areas.set_break(0x3000);
  areas.set_break(0x5000);
  EXPECT_EQ(tell(areas, 0x4fff, {0x1000, 0x9000}), (Told{0x3000, 0x5000, "[heap]"}));
  EXPECT_EQ(tell(areas, 0x2fff, {0x1000, 0x9000}), (Told{0x1000, 0x3000, "//anon"}));
  EXPECT_EQ(tell(areas, 0x5000, {0x1000, 0x9000}), (Told{0x5000, 0x9000, "//anon"}));
}

// QEMU has other memory of its own around its vDSO.
TEST(Areas, CallTheKernelsPageAsTheKernelDoes) {
  Areas areas;
  areas.set_vdso({0x3000, 0x4000});
  EXPECT_EQ(tell(areas, 0x3800, {0x1000, 0x9000}), (Told{0x3000, 0x4000, "[vdso]"}));
  EXPECT_EQ(tell(areas, 0x4000, {0x1000, 0x9000}), (Told{0x4000, 0x9000, "//anon"}));
}

TEST(Areas, AreToldOnce) {
  Areas areas;
  EXPECT_EQ(tell(areas, 0x1000, {0x1000, 0x2000}), (Told{0x1000, 0x2000, "//anon"}));
  EXPECT_EQ(tell(areas, 0x1fff, {0x1000, 0x2000}), kNothing);
  // The mapping has grown on both sides: what is new.
  EXPECT_EQ(tell(areas, 0x2000, {0x0, 0x3000}), (Told{0x2000, 0x3000, "//anon"}));
  EXPECT_EQ(tell(areas, 0xfff, {0x0, 0x3000}), (Told{0x0, 0x1000, "//anon"}));
}

TEST(Areas, AreToldAgainWhereSomethingElseWas) {
  Areas areas;
  tell(areas, 0x1000, {0x1000, 0x9000});
  areas.forget({0x3000, 0x5000});
  EXPECT_EQ(tell(areas, 0x2fff, {0x1000, 0x9000}), kNothing);
  EXPECT_EQ(tell(areas, 0x5000, {0x1000, 0x9000}), kNothing);
  EXPECT_EQ(tell(areas, 0x4000, {0x1000, 0x9000}), (Told{0x3000, 0x5000, "//anon"}));
}

TEST(Areas, AreStacksWhileTheirThreadsLive) {
  Areas areas;
  tell(areas, 0x1000, {0x1000, 0x3000});  // before there is a thread
  areas.add_stack(1, {0x1000, 0x3000});
  areas.add_stack(2, {0x3000, 0x5000});
  EXPECT_EQ(tell(areas, 0x3000, {0x1000, 0x9000}), (Told{0x3000, 0x5000, "[stack]"}));
  EXPECT_EQ(tell(areas, 0x1000, {0x1000, 0x9000}), (Told{0x1000, 0x3000, "[stack]"}));
  areas.remove_stack(2);
  EXPECT_EQ(tell(areas, 0x3000, {0x1000, 0x5000}), (Told{0x3000, 0x5000, "//anon"}));
  areas.remove_stack(3);  // unknown: nothing happens
  EXPECT_EQ(tell(areas, 0x1000, {0x1000, 0x5000}), kNothing);
}

}  // namespace
}  // namespace hodo::plugin
