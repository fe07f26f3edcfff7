#include "hodo/view/losses.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "gtest/gtest.h"

namespace hodo::view {
namespace {

session::LossLine line(session::LossSite site) {
  return {.cause = "cause", .remedy = "do this", .count = 1, .sites = {std::move(site)}};
}

TEST(Losses, NamesAsMuchOfThePlaceAsIsKnown) {
  session::LossSite here{.offset = 0, .ip = 0x1000, .reason = "why"};
  here.who.tid = 7;
  EXPECT_EQ(losses_text(std::vector{line(here)}, {}, {}),
            "  cause once\n    first: why (thread 7, byte 0x0, at 0x1000)\n    do this\n");
  here.offset.reset();
  here.who.tid = -1;
  here.who.cpu = 2;
  EXPECT_EQ(losses_text(std::vector{line(here)}, {}, {}),
            "  cause once\n    first: why (cpu 2, at 0x1000)\n    do this\n");
  EXPECT_EQ(losses_text(std::vector{line({.reason = "why"})}, {}, {}),
            "  cause once\n    first: why\n    do this\n");
}

TEST(Losses, GivesProgramsTheOffsetOnlyWhereThereIsOne) {
  const auto json =
      losses_json(std::vector{line({.offset = 0, .reason = "a"}), line({.reason = "b"})}, {});
  EXPECT_EQ(json[0]["sites"][0]["offset"], 0);
  EXPECT_FALSE(json[1]["sites"][0].contains("offset"));
}

TEST(Losses, NoneIsSaid) { EXPECT_EQ(losses_text({}, {}, {}), "  Nothing was lost.\n"); }

}  // namespace
}  // namespace hodo::view
