// Functions and libraries that are known by name.
#pragma once

#include <string_view>

namespace hodo::text {

class Module;

// setjmp and its kind, getcontext: what is behind a call of them can be come back to.
bool returns_twice(std::string_view function);
// Starts programs, makes memory executable, loads libraries, changes rights or other processes.
bool is_sensitive(std::string_view function);
// A sensitive function that most programs call for harmless things, which only arguments tell.
bool depends_on_arguments(std::string_view function);
// execve and its like.
bool replaces_program(std::string_view function);
// A library that makes code at run time, or a program that does.
struct Generator {
  std::string_view name;     // what its file's name begins with: "libjvm.so"
  std::string_view content;  // what stands somewhere in the program's file; empty: a library
  bool uses_heap = false;    // its code may lie on the heap
};
// By the name of a file; null: none.
const Generator* find_generator(std::string_view file_name);
// By what is in a file, whatever its name: the runtimes that programs are saved with, or that are
// linked into programs and libraries (SBCL, Chez Scheme, LuaJIT). Null: none.
const Generator* find_joined_generator(const Module& module);
// A program that has code which it compiled itself among the data of its file: an image that GCL
// saved, whatever its name.
bool keeps_code_as_data(const Module& module);
// dlopen and its like.
bool loads_libraries(std::string_view function);

// "setjmp" of "_setjmp@plt" stays "_setjmp"; versions were taken off by the symbol table.
std::string_view without_stub(std::string_view name);

// The part of a path behind the last slash.
std::string_view file_name(std::string_view path);

}  // namespace hodo::text
