// Functions and libraries that are known by name.
#pragma once

#include <string_view>

namespace hodo::check {

// setjmp and its kind, getcontext: what is behind a call of them can be come back to.
bool returns_twice(std::string_view function);
// Starts programs, makes memory executable, or changes rights.
bool is_sensitive(std::string_view function);
// The file name of a library that makes code at run time, or of a program that does: "libjvm.so".
bool makes_code(std::string_view file_name);
// dlopen and its like.
bool loads_libraries(std::string_view function);

// The part of a path behind the last slash.
std::string_view file_name(std::string_view path);

}  // namespace hodo::check
