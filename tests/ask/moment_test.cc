#include "hodo/ask/moment.h"

#include <gtest/gtest.h>

namespace hodo::ask {
namespace {

using Kind = MomentSpec::Kind;

MomentSpec parsed(std::string_view text) {
  auto spec = parse_moment(text);
  EXPECT_TRUE(spec) << text << ": " << (spec ? "" : spec.error().message);
  return spec ? *spec : MomentSpec{};
}

TEST(Moment, is_printed_as_it_is_read) {
  for (const char* text : {"4242:0", "4242:1700", "4242:1700+3", "q0:12", "q7:1+1"}) {
    const MomentSpec spec = parsed(text);
    EXPECT_EQ(spec.kind, Kind::position);
    EXPECT_EQ(hodo::ask::to_string(spec.position), text);
  }
}

TEST(Moment, orders_branches_before_instructions) {
  EXPECT_LT(parsed("7:9+100").position, parsed("7:10").position);
  EXPECT_LT(parsed("7:10").position, parsed("7:10+1").position);
}

TEST(Moment, is_a_time) {
  EXPECT_EQ(parsed("12.5").time, 12'500'000'000U);
  EXPECT_EQ(parsed("755.557755731").time, 755'557'755'731U);
  EXPECT_EQ(parsed("time:17").time, 17U);
}

TEST(Moment, is_the_nth_of_something) {
  const MomentSpec call = parsed("call:ns::parse(int)#17");
  EXPECT_EQ(call.kind, Kind::call);
  EXPECT_EQ(call.name, "ns::parse(int)");
  EXPECT_EQ(call.count, 17U);
  EXPECT_EQ(parsed("return:parse").count, 1U);
  const MomentSpec line = parsed("line:src/foo.cc:42#2");
  EXPECT_EQ(line.name, "src/foo.cc");
  EXPECT_EQ(line.value, 42U);
  EXPECT_EQ(line.count, 2U);
  const MomentSpec symbol = parsed("at:parse+0x10#3");
  EXPECT_EQ(symbol.name, "parse");
  EXPECT_EQ(symbol.value, 0x10U);
  EXPECT_EQ(parsed("at:0x401136").value, 0x401136U);
  EXPECT_EQ(parsed("finding:3").count, 3U);
  EXPECT_EQ(parsed("crash:99").process, 99);
  EXPECT_EQ(parsed("end:7").thread->tid, 7);
}

TEST(Moment, leaves_numbers_within_names) {
  for (const char* name :
       {"f()::{lambda(int)#1}::operator()(int) const", "prog!f::{closure#0}",
        "void g<f()::{lambda()#2}>(f()::{lambda()#2})", "{lambda()#1}::_FUN()"}) {
    EXPECT_EQ(parsed(std::string("call:") + name).name, name);
    EXPECT_EQ(parsed(std::string("call:") + name).count, 1U);
    const MomentSpec third = parsed(std::string("return:") + name + "#3");
    EXPECT_EQ(third.name, name);
    EXPECT_EQ(third.count, 3U);
  }
  const MomentSpec line = parsed("line:/home/me/c#/foo.c:42");
  EXPECT_EQ(line.name, "/home/me/c#/foo.c");
  EXPECT_EQ(line.value, 42U);
  EXPECT_EQ(parsed("line:c#/foo.c:42#7").count, 7U);
}

TEST(Moment, refuses_what_is_none) {
  for (const char* text : {"",
                           "x",
                           "4242:",
                           ":7",
                           "4242:7+",
                           "4242:7+x",
                           "-1:7",
                           "12.",
                           "12.1234567890",
                           "1e3.5",
                           "call:",
                           "call:f#0",
                           "call:f#x",
                           "line:foo.cc",
                           "line::3",
                           "line:foo.cc:0",
                           "finding:0",
                           "finding:x",
                           "crash:x",
                           "99999999999999999999:1",
                           "4242:99999999999999999999",
                           "q:1"}) {
    EXPECT_FALSE(parse_moment(text)) << text;
  }
}

TEST(Moment, refusal_says_the_form_of_what_was_begun) {
  const auto said = [](const char* text) {
    const auto none = parse_moment(text);
    return none ? "" : none.error().message;
  };
  EXPECT_EQ(said("call:f#0"),
            "'call:f#0' is no moment: it is call:FUNCTION or call:FUNCTION#N, with N from 1");
  EXPECT_EQ(said("crash:x"), "'crash:x' is no moment: it is crash or crash:PID");
  EXPECT_NE(said("12.").find("a moment is THREAD:BRANCH"), std::string::npos);
  EXPECT_NE(said("cal:f").find("call:FUNCTION#N, return:"), std::string::npos);
  EXPECT_TRUE(said("cal:f").starts_with("'cal:f' is no moment; a moment is"));
  EXPECT_TRUE(said("f#3").starts_with("'f#3' is no moment (did you mean 'call:f#3'?)"));
  EXPECT_TRUE(said("n::f").starts_with("'n::f' is no moment (did you mean 'call:n::f'?)"));
  EXPECT_TRUE(
      said("f.cc:3#2").starts_with("'f.cc:3#2' is no moment (did you mean 'line:f.cc:3#2'?)"));
  EXPECT_TRUE(said("7").starts_with("'7' is no moment; a moment is"));
}

}  // namespace
}  // namespace hodo::ask
