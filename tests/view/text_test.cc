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

}  // namespace
}  // namespace hodo::view
