// Small pieces of text for people: strings from a trace made harmless, numbers, times and sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hodo::view {

// Makes a string that came out of a trace or a traced program's file safe to print: control
// characters, malformed UTF-8, and the Unicode characters that reorder or hide text become \xNN
// escapes. Every string that is not hodo's own passes through here on its way to a person.
void append_printable(std::string& out, std::string_view raw);
std::string printable(std::string_view raw);
// For programs, which print nothing: only malformed UTF-8 becomes \xNN escapes.
std::string utf8(std::string_view raw);

// "1,234,567".
std::string grouped(std::uint64_t value);
// "0x401230".
std::string hex(std::uint64_t value);
// "once", "1,234 times".
std::string times(std::uint64_t count);
// "917 B", "16.5 KiB", "3.2 GiB".
std::string byte_size(std::uint64_t bytes);
// "850 ns", "12.3 us", "4.56 ms", "1.234 s", "3 min 20 s".
std::string duration(std::uint64_t nanoseconds);
// "12.5%"; "-" when the whole is 0.
std::string percent(std::uint64_t part, std::uint64_t whole);
// "12.345678901": seconds of a clock that counts nanoseconds.
std::string seconds(std::uint64_t nanoseconds);

// Columns that a string takes on a terminal, one per code point (combining and double-width
// characters are not told apart).
std::size_t width(std::string_view text);
// The string cut to `columns`, an ellipsis of two dots where something was taken away.
std::string fit(std::string_view text, std::size_t columns);
std::string fit_end(std::string_view text, std::size_t columns);  // its beginning goes
// The name of a function, "a<..>::b(..)" of "a<int>::b(char)" first, then without the names that
// it lies in, "..b(..)". A remark behind it stays: "+0x1b", " (inlined)".
std::string fit_name(std::string_view text, std::size_t columns);

}  // namespace hodo::view
