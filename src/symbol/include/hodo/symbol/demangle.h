// C++, D and Rust names as their programmers wrote them, from the mangled ones of symbol tables.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hodo::symbol {

// Longer names are left as they are, and longer results too: a mangled name of a few hundred bytes
// can stand for gigabytes. The first limit bounds the stack that demangling takes: below 2 MiB.
inline constexpr std::size_t kLongestMangled = 4096;
inline constexpr std::size_t kLongestDemangled = 16384;

// The C++ (Itanium), D or Rust name that `mangled` stands for, parameters included; `mangled`
// itself if it is none or over a limit. What follows an '@' ("@plt") stays behind the name. Not
// made safe for a terminal: names are whatever the file's maker wanted, so whoever shows one
// escapes control characters (the view layer does).
std::string demangle(std::string_view mangled);

// All that somebody may write who means the function called `demangled`: with or without its
// parameters, ABI tags left out, whatever copies the compiler has made of it ("f.constprop.0"), of
// a template's or a generic function's instance with or without the arguments, for which Go writes
// "[...]", too. Each once, none of them empty but where `demangled` is.
std::vector<std::string> spellings(std::string_view demangled);

// Whether `wanted` is one of them.
bool means(std::string_view wanted, std::string_view demangled);

}  // namespace hodo::symbol
