#include "hodo/symbol/demangle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>
#include <string>

namespace hodo::symbol {
namespace {

TEST(Demangle, Cpp) {
  EXPECT_EQ(demangle("_ZN7fixture5outerEi"), "fixture::outer(int)");
  EXPECT_EQ(demangle("_ZNK7fixture3BoxIlE3getEl"), "fixture::Box<long>::get(long) const");
  EXPECT_EQ(demangle("_Z1fv.cold"), "f() [clone .cold]");
}

TEST(Demangle, Rust) {
  EXPECT_EQ(demangle("_RNvC7mycrate3foo"), "mycrate::foo");
  EXPECT_EQ(demangle("_ZN7mycrate3foo17h0123456789abcdefE"), "mycrate::foo");
}

TEST(Demangle, D) {
  EXPECT_EQ(demangle("_D4main3addFiiZi"), "main.add(int, int)");
  EXPECT_EQ(demangle("_D4main3Box3getMxFZi"), "main.Box.get() const");
  EXPECT_EQ(demangle("_D4main__T3maxTiZQhFNaNbNiNfiiZi"), "main.max!(int).max(int, int)");
  EXPECT_EQ(demangle("_Dmain"), "D main");
  EXPECT_EQ(demangle("_D4main3addFiiZi.constprop.0.cold"),
            "main.add(int, int) [clone .constprop.0] [clone .cold]");
  EXPECT_EQ(demangle("_D4main3addFiiZi@plt"), "main.add(int, int)@plt");
}

TEST(Demangle, KeepsTheStubSuffix) {
  EXPECT_EQ(demangle("_Z1fi@plt"), "f(int)@plt");
  EXPECT_EQ(demangle("puts@plt"), "puts@plt");
}

TEST(Demangle, LeavesOtherNamesAlone) {
  for (const char* name :
       {"", "main", "i", "_Z", "_ZZ", "_Z1", "_Z9short", "_R", "_ZN", "__Z1fv", "_D", "_DYNAMIC",
        "_D4main", "_D4main3addFiiZiQ", "_D4main1fFQbZv", "_Z1fIXX", "\x1b[31mred"}) {
    EXPECT_EQ(demangle(name), name);
  }
}

// P<a, a>, then each time P of the last one twice: doubles with every step of ten characters.
std::string doubling_name(int steps) {
  const auto substitution = [](int n) -> std::string {
    if (n == 0) return "S_";
    static constexpr char kDigits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const int id = n - 1;
    const std::string high = id >= 36 ? std::string(1, kDigits[id / 36]) : "";
    return "S" + high + kDigits[id % 36] + "_";
  };
  std::string name = "_Z1f1PI1aS0_E";
  for (int i = 0; i < steps; ++i) {
    name += "S_I" + substitution(2 + i) + substitution(2 + i) + "E";
  }
  return name;
}

TEST(Demangle, StopsNamesThatExplode) {
  EXPECT_THAT(demangle(doubling_name(3)), testing::StartsWith("f(P<a, a>, P<P<a, a>, P<a, a> >"));
  const auto start = std::chrono::steady_clock::now();
  const std::string bomb = doubling_name(60);  // would be exabytes
  EXPECT_EQ(demangle(bomb), bomb);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

// A tuple of two int, then each time a tuple of the last one twice.
TEST(Demangle, StopsNamesOfDThatExplode) {
  const auto doubling = [](int steps) {
    std::string name = "_D1fFB2ii";
    std::size_t last = 5;  // where the newest tuple begins
    for (int i = 0; i < steps; ++i) {
      const std::size_t begin = name.size();
      name += "B2";
      for (int twice = 0; twice < 2; ++twice) {
        const std::size_t back = name.size() - last;
        name += 'Q';
        if (back >= 26) name += static_cast<char>('A' + back / 26);
        name += static_cast<char>('a' + back % 26);
      }
      last = begin;
    }
    return name + "Zv";
  };
  EXPECT_EQ(demangle(doubling(1)),
            "f(Tuple!(int, int), Tuple!(Tuple!(int, int), Tuple!(int, int)))");
  const auto start = std::chrono::steady_clock::now();
  const std::string bomb = doubling(60);
  EXPECT_EQ(demangle(bomb), bomb);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

// libiberty tries again what it could not make sense of, in each of them what is in it.
TEST(Demangle, StopsNamesOfDThatAreTriedAgain) {
  for (const std::string part : {"C1aF", "__T1aS9", "__T1aS99", "E1aM", "S9__U1a"}) {
    std::string name = "_D1fF";
    while (name.size() < 400) name += part;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(demangle(name), name);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  }
}

TEST(Demangle, LimitsLengths) {
  const std::string longest =
      "_Z" + std::to_string(kLongestMangled - 7) + std::string(kLongestMangled - 7, 'x') + "v";
  ASSERT_EQ(longest.size(), kLongestMangled);
  EXPECT_EQ(demangle(longest), std::string(kLongestMangled - 7, 'x') + "()");
  const std::string longer =
      "_Z" + std::to_string(kLongestMangled) + std::string(kLongestMangled, 'x') + "v";
  EXPECT_EQ(demangle(longer), longer);
}

TEST(Means, ATemplateWithoutItsArguments) {
  const char* const sort = "void std::sort<int*, Less>(int*, int*, Less)";
  EXPECT_TRUE(means("std::sort", sort));
  EXPECT_TRUE(means("void std::sort<int*, Less>", sort));
  EXPECT_TRUE(means("std::sort<int*, Less>", sort));
  EXPECT_FALSE(means("std::sort<int*>", sort));
  EXPECT_FALSE(means("sort", sort));
  EXPECT_FALSE(means("std::sor", sort));
  EXPECT_TRUE(means("std::vector::push_back",
                    "std::vector<int, std::allocator<int> >::push_back(int const&)"));
  EXPECT_TRUE(means("(anonymous namespace)::f", "int (anonymous namespace)::f<char>(char)"));
  EXPECT_TRUE(means("f", "std::pair<int, A<b> > f<std::vector<int> >() [clone .isra.0]"));
  EXPECT_TRUE(means("crate::pick", "crate::pick::<alloc::vec::Vec<i32>>"));
  EXPECT_TRUE(means("crate::call", "crate::call::<fn(i32) -> i32>"));
  EXPECT_FALSE(means("f", "int f.part.0<int>(int)"));
}

TEST(Means, ATemplateOfDWithoutItsArguments) {
  const char* const sort = "std.sorting.sort!(\"a < (b\", main.Box!(int)).sort(int[])";
  EXPECT_TRUE(means("std.sorting.sort", sort));
  EXPECT_TRUE(means("std.sorting.sort!(\"a < (b\", main.Box!(int)).sort", sort));
  EXPECT_FALSE(means("std.sorting", sort));
  EXPECT_TRUE(means("main.Box.get", "main.Box!(int).Box.get() const"));
  EXPECT_TRUE(means("main.outer.inner", "main.outer!(int).outer.inner!(char).inner()"));
  EXPECT_TRUE(means("main.Box.Boxes", "main.Box!(int).Boxes()"));
  EXPECT_TRUE(means("A::operator!", "A::operator!() const"));
  EXPECT_FALSE(means("A::operator", "A::operator!() const"));
}

TEST(Means, OperatorsAreNoTemplates) {
  EXPECT_TRUE(means("operator<<", "operator<<(std::ostream&, A)"));
  EXPECT_TRUE(means("operator<<", "std::ostream& operator<< <char>(std::ostream&, char)"));
  EXPECT_TRUE(means("A::operator<", "bool A::operator< <int>(int) const"));
  EXPECT_FALSE(means("A::operator", "A::operator<(A) const"));
  EXPECT_TRUE(means("Box::operator->", "Box<int>::operator->() const"));
  EXPECT_TRUE(means("Box::operator int", "Box<int>::operator int() const"));
  EXPECT_FALSE(means("::index", "<alloc::vec::Vec<T> as core::ops::Index>::index"));
  EXPECT_FALSE(means("", "<A as B>"));
}

TEST(Spellings, AreWhatMeansTakes) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(spellings("main"), Names{"main"});
  EXPECT_EQ(spellings("f.constprop.0"), (Names{"f.constprop.0", "f"}));
  EXPECT_EQ(spellings("f.part.0"), Names{"f.part.0"});
  EXPECT_EQ(spellings("f[abi:cxx11](int)"), (Names{"f(int)", "f[abi:cxx11](int)", "f"}));
  EXPECT_EQ(spellings("int f<char>(char) [clone .isra.0]"),
            (Names{"int f<char>(char) [clone .isra.0]", "int f<char>", "int f<char>(char)",
                   "f<char>", "f"}));
  for (const std::string& one : spellings("void std::sort<int*, Less>(int*, int*, Less)")) {
    EXPECT_TRUE(means(one, "void std::sort<int*, Less>(int*, int*, Less)")) << one;
  }
}

// Runs in a thread that has no more stack than the header promises to need.
void* nest(void*) {
  for (const char* step : {"P", "A",   "FP", "VAA1",  "__T1aT", "B1",  "HP",   "N",     "I",
                           "F", "L_Z", "X",  "St",    "M",      "A_",  "DpT_", "XadL_", "cv",
                           "K", "Z",   "Dp", "U3abc", "N1aI",   "FvP", "Xnt",  "XcvT_", "Xcl"}) {
    std::string name = "_Z1f";
    while (name.size() < kLongestMangled - 4) name += step;
    EXPECT_FALSE(demangle(name).empty());
    EXPECT_FALSE(demangle(name + "i").empty());
    EXPECT_FALSE(demangle("_RNvC1a" + name.substr(8)).empty());
    EXPECT_FALSE(demangle("_D1a" + name.substr(4)).empty());
  }
  return nullptr;
}

TEST(Demangle, DeepNestingIsNoDeepStack) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 2 << 20);
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, nest, nullptr), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace
}  // namespace hodo::symbol
