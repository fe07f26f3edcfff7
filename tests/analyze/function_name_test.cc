#include "hodo/analyze/function_name.h"

#include <gtest/gtest.h>

namespace hodo::analyze {
namespace {

TEST(FunctionName, may_name_the_object_and_leave_out_parameters) {
  const Function parse{.name = "ns::parse(int)", .object = "/usr/bin/prog"};
  EXPECT_TRUE(FunctionName("ns::parse").means(parse));
  EXPECT_TRUE(FunctionName("ns::parse(int)").means(parse));
  EXPECT_TRUE(FunctionName("prog!ns::parse").means(parse));
  EXPECT_FALSE(FunctionName("bin!ns::parse").means(parse));
  EXPECT_FALSE(FunctionName("ns::parse(long)").means(parse));
  EXPECT_FALSE(FunctionName("parse(int)").means(parse));
}

TEST(FunctionName, may_have_a_mark_of_its_own) {
  const Function unequal{.name = "ns::operator!=(A const&)", .object = "/usr/bin/prog"};
  EXPECT_TRUE(FunctionName("ns::operator!=").means(unequal));
  EXPECT_TRUE(FunctionName("prog!ns::operator!=").means(unequal));
  EXPECT_FALSE(FunctionName("bin!ns::operator!=").means(unequal));
}

TEST(FunctionName, may_have_the_type_without_a_value_in_it) {
  const Function bare{.name = "short<fn() -> i32, !>", .object = "/usr/bin/prog"};
  EXPECT_TRUE(FunctionName("short<fn() -> i32, !>").means(bare));
  EXPECT_TRUE(FunctionName("prog!short<fn() -> i32, !>").means(bare));
  EXPECT_FALSE(FunctionName("bin!short<fn() -> i32, !>").means(bare));
  const Function closure{.name = "short::<main::{closure#0}, !>", .object = "/usr/bin/prog"};
  EXPECT_TRUE(FunctionName("short::<main::{closure#0}, !>").means(closure));
  const Function never{.name = "<! as Debug>::fmt", .object = "/usr/bin/prog"};
  EXPECT_TRUE(FunctionName("prog!<! as Debug>::fmt").means(never));
}

TEST(FunctionName, means_what_the_compiler_made_of_it) {
  const auto means = [](const std::string& written, const std::string& function) {
    return FunctionName(written).means(function, "/usr/bin/prog");
  };
  EXPECT_TRUE(means("parse", "parse.constprop.0"));
  EXPECT_TRUE(means("parse", "parse.isra.0.constprop.12"));
  EXPECT_TRUE(means("parse", "parse.llvm.1234567890"));
  EXPECT_TRUE(means("parse", "parse.lto_priv.0"));
  EXPECT_TRUE(means("parse", "parse.localalias"));
  EXPECT_TRUE(means("parse.constprop.0", "parse.constprop.0"));
  EXPECT_TRUE(means("parse(int)", "parse(int) [clone .isra.0]"));
  EXPECT_TRUE(means("parse(int)", "parse(int) [clone .constprop.0] [clone .isra.0]"));
  EXPECT_FALSE(means("parse.constprop.0", "parse"));
  EXPECT_FALSE(means("parse", "parse.part.0"));
  EXPECT_FALSE(means("parse", "parse.part.0.constprop.0"));
  EXPECT_FALSE(means("parse", "parse.0"));
  EXPECT_FALSE(means("parse", "parse]"));
  EXPECT_FALSE(means("", ".isra.0"));
}

TEST(FunctionName, may_mean_none_but_what_is_called_so) {
  EXPECT_TRUE(FunctionName("prog!parse", true).means("parse", "/usr/bin/prog"));
  EXPECT_FALSE(FunctionName("parse", true).means("parse.constprop.0", "/usr/bin/prog"));
  EXPECT_FALSE(FunctionName("parse", true).means("parse [a.c]", "/usr/bin/prog"));
  EXPECT_FALSE(FunctionName("lib!parse", true).means("parse", "/usr/bin/prog"));
}

TEST(FunctionName, leaves_out_which_of_the_name) {
  EXPECT_TRUE(FunctionName("parse").means("parse [a.c]", "/usr/bin/prog"));
  EXPECT_TRUE(FunctionName("parse").means("parse(int) [a.cc]", "/usr/bin/prog"));
  EXPECT_TRUE(FunctionName("parse [a.c]").means("parse [a.c]", "/usr/bin/prog"));
  EXPECT_FALSE(FunctionName("parse [b.c]").means("parse [a.c]", "/usr/bin/prog"));
}

TEST(Suggestion, has_the_nearest_first) {
  EXPECT_EQ(suggestion("prase", {"main", "parse", "erase"}), "; did you mean 'erase', 'parse'?");
  EXPECT_EQ(suggestion("strlne", {"strline", "strlen"}), "; did you mean 'strlen', 'strline'?");
  EXPECT_EQ(suggestion("parse_line", {"parse_lines(int)", "x"}),
            "; did you mean 'parse_lines(int)'?");
  EXPECT_EQ(suggestion("parze", {"parse [a.c]", "main"}), "; did you mean 'parse [a.c]'?");
  EXPECT_EQ(suggestion("parse", {"main"}), "");
  EXPECT_EQ(suggestion("f", {""}), "");
  // Stubs count for their callers; what has the very name is no answer either.
  EXPECT_EQ(suggestion("getpid@plt", {"getpid@plt", "waitpid@plt", "getpid"}),
            "; did you mean 'getpid'?");
  EXPECT_EQ(suggestion("getpit", {"getpid@plt"}), "");
  EXPECT_EQ(suggestion("[a+0x10]", {"[a+0x10]"}), "");
  // Half of a word of four letters is as good as another word.
  EXPECT_EQ(suggestion("nope", {"code", "notes", "hope"}), "; did you mean 'hope'?");
  EXPECT_EQ(suggestion("laef", {"leaf", "lead"}), "; did you mean 'leaf'?");
  // Before those that have the word in them somewhere.
  EXPECT_EQ(suggestion("lea", {"_IO_cleanup", "clear", "leaf", "main"}),
            "; did you mean 'leaf', 'clear', '_IO_cleanup'?");
}

TEST(Suggestion, knows_the_last_part_of_a_name) {
  const std::string text =
      "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
  const std::string add = "ns::Box<" + text + ", 3>::add(" + text + " const&)";
  const std::vector<std::string> names{"__tls_get_addr", "list_add", add,
                                       "(anonymous namespace)::parse(int)"};
  EXPECT_EQ(suggestion("add", names),
            "; did you mean 'ns::Box::add', 'list_add', '__tls_get_addr'?");
  EXPECT_EQ(suggestion("Box<std::string, 3>::add", names), "; did you mean 'ns::Box::add'?");
  EXPECT_TRUE(FunctionName("ns::Box::add").means(add, ""));
  EXPECT_EQ(suggestion("parse", names), "; did you mean '(anonymous namespace)::parse(int)'?");
}

TEST(FunctionName, is_one_of_a_type_of_Go_or_of_one_in_brackets_of_Rust) {
  const auto means = [](const std::string& written, const std::string& function) {
    return FunctionName(written).means(function, "/usr/bin/prog");
  };
  EXPECT_TRUE(means("main.(*Box).Area", "main.(*Box).Area"));
  EXPECT_FALSE(means("main.", "main.(*Box).Area"));
  EXPECT_FALSE(means("main.(*Box)", "main.(*Box).Area"));
  EXPECT_FALSE(means("<", "<(usize, usize) as core::fmt::Debug>::fmt"));
  EXPECT_FALSE(means("<[u8", "<[u8] as Hash>::hash"));
  EXPECT_TRUE(means("Vec::push", "Vec<(u8, u8)>::push"));
  // Go's own tracebacks have "[...]".
  const std::string push = "main.(*Stack[go.shape.int_0]).Push";
  EXPECT_TRUE(means("main.(*Stack).Push", push));
  EXPECT_TRUE(means("main.(*Stack[...]).Push", push));
  EXPECT_FALSE(means("main.(*Stack[string]).Push", push));
  EXPECT_TRUE(means("main.Map", "main.Map[go.shape.int_0,go.shape.[]string_1]"));
  EXPECT_TRUE(means("main.Map[...]", "main.Map[T]"));
  EXPECT_TRUE(means("main.Map.func1", "main.Map[...].func1"));
  EXPECT_TRUE(means("A::f", "A::f(int) const &"));
  EXPECT_TRUE(means("A::operator[]", "A::operator[](int) const"));
  EXPECT_FALSE(means("A::operator", "A::operator[](int) const"));
}

TEST(Suggestion, knows_names_as_other_languages_write_them) {
  const std::vector<std::string> names{"main.(*Box).Area",
                                       "main.(*Stack[go.shape.int_0]).Push",
                                       "__shapes_MOD_idx",
                                       "a__inner.0",
                                       "camlO__index_86",
                                       "_D1d5Outer5scaleMFZi",
                                       "<(u8, u8) as r::Shape>::turn",
                                       "Main_divide_info"};
  EXPECT_EQ(suggestion("Area", names), "; did you mean 'main.(*Box).Area'?");
  EXPECT_EQ(suggestion("area", names), "; did you mean 'main.(*Box).Area'?");
  EXPECT_EQ(suggestion("Box.Area", names), "; did you mean 'main.(*Box).Area'?");
  EXPECT_EQ(suggestion("Push", names), "; did you mean 'main.(*Stack[go.shape.int_0]).Push'?");
  EXPECT_EQ(suggestion("main.(*Stack[string]).Push", names),
            "; did you mean 'main.(*Stack[go.shape.int_0]).Push'?");
  EXPECT_EQ(suggestion("shapes::idx", names), "; did you mean '__shapes_MOD_idx'?");
  EXPECT_EQ(suggestion("A.Inner", names), "; did you mean 'a__inner.0'?");
  EXPECT_EQ(suggestion("O.index", names), "; did you mean 'camlO__index_86'?");
  EXPECT_EQ(suggestion("d.Outer.scale", names), "; did you mean '_D1d5Outer5scaleMFZi'?");
  EXPECT_EQ(suggestion("turn", names), "; did you mean '<(u8, u8) as r::Shape>::turn'?");
  EXPECT_EQ(suggestion("Main.divide", names), "; did you mean 'Main_divide_info'?");
  // libc has a function of this name, too.
  EXPECT_EQ(suggestion("O.index", {"index", "camlO__index_86"}),
            "; did you mean 'index', 'camlO__index_86'?");
  // Of one name the likest first.
  EXPECT_EQ(suggestion("r::run::{closure#0}", {"std::getenv::{closure#0}", "r::run::{{closure}}"}),
            "; did you mean 'r::run::{{closure}}', 'std::getenv::{closure#0}'?");
}

}  // namespace
}  // namespace hodo::analyze
