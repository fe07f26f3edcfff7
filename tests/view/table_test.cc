#include "hodo/view/table.h"

#include <gtest/gtest.h>

namespace hodo::view {
namespace {

TEST(Table, AlignsColumnsAndDropsTrailingBlanks) {
  Table table({{.title = "function"}, {.title = "calls", .align = Align::right}, {.title = ""}});
  table.add({"main", "1"});
  table.add({"strlen", "1,024", "x"});
  EXPECT_EQ(table.render(Style{}),
            "  function  calls\n"
            "  main          1\n"
            "  strlen    1,024  x\n");
}

TEST(Table, CutsOnlyShrinkingColumnsToTheTerminal) {
  Table table({{.title = "name", .shrinks = true}, {.title = "n", .align = Align::right}});
  table.add({std::string(100, 'a'), "12345"});
  std::string text = table.render(Style{.columns = 40});
  EXPECT_EQ(text,
            "  name                                 n\n  " + std::string(29, 'a') + "..  12345\n");
}

TEST(Table, NeverShrinksBelowTwelveCharacters) {
  Table table({{.title = "name", .shrinks = true}, {.title = "n"}});
  table.add({std::string(50, 'a'), std::string(60, 'b')});
  std::string text = table.render(Style{.columns = 40});
  EXPECT_NE(text.find("aaaaaaaaaa..  bbbb"), std::string::npos) << text;
}

TEST(Table, CutsNamesWhereTheyAreAlike) {
  Table table({{.title = "function", .shrinks = true, .cut = Cut::name}, {.title = "n"}});
  table.add({"std::_Rb_tree<int, std::pair<int const, int>>::_M_begin() (inlined)", "1"});
  table.add({"std::_Rb_tree<int, std::pair<int const, int>>::lower_bound(int const&)", "2"});
  EXPECT_EQ(table.render(Style{.columns = 40}),
            "  function                             n\n"
            "  .._M_begin() (inlined)               1\n"
            "  std::_Rb_tree<..>::lower_bound(..)   2\n");
}

TEST(Table, ColourDoesNotChangeTheLayout) {
  Table table({{.title = "a", .tone = Tone::name}, {.title = "b"}});
  table.add({"x", "y"});
  EXPECT_EQ(table.render(Style{.color = true}),
            "  \033[2ma\033[0m  \033[2mb\033[0m\n"
            "  \033[36mx\033[0m  y\n");
}

TEST(Table, SurplusCellsAreDropped) {
  Table table({{.title = "a"}});
  table.add({"1", "2"});
  EXPECT_EQ(table.render(Style{}), "  a\n  1\n");
}

TEST(Table, ACellEndsAtANul) {
  Table table({{.title = "a"}, {.title = "b"}});
  table.add({std::string("1\0x", 3), "2"});
  table.add({"3", std::string(1, '\0')});
  EXPECT_EQ(table.render(Style{}), "  a  b\n  1  2\n  3\n");
}

}  // namespace
}  // namespace hodo::view
