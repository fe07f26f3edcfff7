#include "hodo/view/text.h"

#include <gtest/gtest.h>

namespace hodo::view {
namespace {

TEST(Printable, KeepsPlainTextAndUtf8) {
  EXPECT_EQ(printable("/usr/bin/ls --color"), "/usr/bin/ls --color");
  EXPECT_EQ(printable("caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x90\x9b"),
            "caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x90\x9b");
}

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("\033[31mred\033[0m"), "\\x1b[31mred\\x1b[0m");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\x0ab\\x09c\\x0dd");
  EXPECT_EQ(printable(std::string_view("nul\0", 4)), "nul\\x00");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");  // CSI as one C1 character
}

TEST(Printable, EscapesCharactersThatReorderOrHideText) {
  EXPECT_EQ(printable("a\xe2\x80\xaegpj.exe"), "a\\xe2\\x80\\xaegpj.exe");
  EXPECT_EQ(printable("x\xe2\x80\x8by"), "x\\xe2\\x80\\x8by");
  EXPECT_EQ(printable("\xef\xbb\xbf"), "\\xef\\xbb\\xbf");
}

TEST(Printable, EscapesMalformedUtf8ByteByByte) {
  EXPECT_EQ(printable("\x80"), "\\x80");                             // continuation alone
  EXPECT_EQ(printable("a\xc3"), "a\\xc3");                           // cut off
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(printable("\xf8\x88\x80\x80\x80"), "\\xf8\\x88\\x80\\x80\\x80");
}

TEST(Numbers, Grouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(~std::uint64_t{0}), "18,446,744,073,709,551,615");
}

TEST(Numbers, ByteSize) {
  EXPECT_EQ(byte_size(0), "0 B");
  EXPECT_EQ(byte_size(1023), "1023 B");
  EXPECT_EQ(byte_size(1024), "1.0 KiB");
  EXPECT_EQ(byte_size(16896), "16.5 KiB");
  EXPECT_EQ(byte_size((1 << 20) - 1), "1.0 MiB");  // never "1024.0 KiB"
  EXPECT_EQ(byte_size(~std::uint64_t{0}), "16.0 EiB");
}

TEST(Numbers, Duration) {
  EXPECT_EQ(duration(0), "0 ns");
  EXPECT_EQ(duration(999), "999 ns");
  EXPECT_EQ(duration(12'345), "12.3 us");
  EXPECT_EQ(duration(4'560'000), "4.56 ms");
  EXPECT_EQ(duration(1'234'000'000), "1.234 s");
  EXPECT_EQ(duration(200'000'000'000), "3 min 20 s");
  EXPECT_EQ(duration(7'500'000'000'000), "2 h 5 min");
}

TEST(Numbers, PercentOfNothingIsNoNumber) {
  EXPECT_EQ(percent(1, 8), "12.5%");
  EXPECT_EQ(percent(0, 0), "-");
}

TEST(Numbers, SecondsHaveAllNineDigits) {
  EXPECT_EQ(seconds(12'345'678'901), "12.345678901");
  EXPECT_EQ(seconds(5), "0.000000005");
}

TEST(Fit, CutsBetweenCharacters) {
  EXPECT_EQ(fit("abcdef", 6), "abcdef");
  EXPECT_EQ(fit("abcdef", 5), "abc..");
  EXPECT_EQ(fit("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 3), "\xc3\xa9..");
  EXPECT_EQ(fit("abcdef", 1), ".");
  EXPECT_EQ(fit_end("abcdef", 6), "abcdef");
  EXPECT_EQ(fit_end("abcdef", 5), "..def");
  EXPECT_EQ(fit_end("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 3), "..\xc3\xa9");
  EXPECT_EQ(fit_end("abcdef", 1), ".");
}

TEST(FitName, TakesWhatStandsInBracketsFirst) {
  const char* const at = "std::map<int, a<b>>::at(int const&)";
  EXPECT_EQ(fit_name(at, 35), at);
  EXPECT_EQ(fit_name(at, 34), "std::map<..>::at(..)");
  EXPECT_EQ(fit_name("<alloc::vec::Vec<T> as Drop>::drop", 20), "<..>::drop");
  EXPECT_EQ(fit_name("main::{lambda()#1}::f() const", 20), "..f() const");
}

TEST(FitName, KnowsOperatorsFromBrackets) {
  EXPECT_EQ(fit_name("a<b, c>::operator()(int, char)", 22), "a<..>::operator()(..)");
  EXPECT_EQ(fit_name("std::operator<< <char>(std::ostream&)", 30), "std::operator<< <..>(..)");
  EXPECT_EQ(fit_name("box<std::string>::operator->(long)", 30), "box<..>::operator->(..)");
}

TEST(FitName, ThenTakesTheNamesThatItLiesIn) {
  EXPECT_EQ(fit_name("std::map<int, a<b>>::at(int const&)", 16), "..at(..)");
  EXPECT_EQ(fit_name("core::ops::function::FnOnce::call_once", 19), "..FnOnce::call_once");
  EXPECT_EQ(fit_name("core::ops::function::FnOnce::call_once", 18), "..call_once");
  EXPECT_EQ(fit_name("core::ops::function::FnOnce::call_once", 8), "call_o..");
  EXPECT_EQ(fit_name("std::panic::catch_unwind::<f<u8>, u8>", 22), "..catch_unwind::<..>");
  EXPECT_EQ(fit_name("__pthread_kill_implementation", 12), "__pthread_..");
}

TEST(FitName, KeepsARemarkBehindAndBlanksInFront) {
  EXPECT_EQ(fit_name("__pthread_kill_implementation+0x10c", 24), "__pthread_kill_i..+0x10c");
  EXPECT_EQ(fit_name("std::thread::thread(int) (inlined)", 26), "..thread(..) (inlined)");
  EXPECT_EQ(fit_name("mov byte ptr [0x00007fff], 0x01  (not executed)", 34),
            "mov byte ptr [0x..  (not executed)");
  EXPECT_EQ(fit_name("    std::a<int>::b", 13), "    ..b");
  EXPECT_EQ(fit_name("                        abcdef", 8), "      ..");
}

TEST(FitName, CutsTheEndOfWhatIsNoName) {
  EXPECT_EQ(fit_name("f(int, char (*)(int))", 20), "f(..)");
  EXPECT_EQ(fit_name("a < b < c", 8), "a < b ..");
  EXPECT_EQ(fit_name("a))))((((", 8), "a))))(..");
  EXPECT_EQ(fit_name("+0x123456789", 8), "+0x123..");
  EXPECT_EQ(fit_name("abcdef", 1), ".");
  EXPECT_EQ(fit_name("abcdef", 0), "");
}

}  // namespace
}  // namespace hodo::view
