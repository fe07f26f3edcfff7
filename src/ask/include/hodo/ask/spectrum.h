// What runs executed, by names that other runs and builds have too, and how runs differ in it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hodo/analyze/coverage.h"

namespace hodo::ask {

struct Executed {
  enum class Kind : std::uint8_t {
    function,
    line,
    taken,      // a conditional branch that was taken
    not_taken,  // ... or not
  };
  Kind kind = Kind::function;
  std::string module;  // last path component, raw
  // Of a function as in the file (mangled), without what a compiler appends to the only copy that
  // it has made of it; or of a source file: its last path component, and as many before it as tell
  // it from the module's others. Raw.
  std::string name;
  std::string source;      // of a function that is not the only one of its name, where it is known
  std::uint32_t line = 0;  // 0: a function
  std::uint32_t nth = 0;   // of the line's conditional branches, or functions alike, by address
  auto operator<=>(const Executed&) const = default;
};
std::string_view name(Executed::Kind kind);  // "function", "line", "taken", "not-taken"

// How often each was executed.
using Spectrum = std::map<Executed, std::uint64_t>;
Spectrum spectrum_of(const analyze::Coverage& coverage);

// Of the files that ran those without source lines: in another run, of another build, they may have
// some. Last path components.
std::set<std::string> without_lines(const analyze::Coverage& coverage);
// Leaves out the lines and branches of files, since another run does not know which of them it
// executed. Gives the files that had some.
std::set<std::string> leave_out_lines(Spectrum& spectrum, const std::set<std::string>& of_files);

// Functions by base_name() of their demangled names, by file.
using FunctionsOfFiles = std::map<std::string, std::set<std::string>>;
// Leaves functions out: how often another run executed them is not known.
void leave_out_functions(Spectrum& spectrum, const FunctionsOfFiles& functions);

struct Difference {
  Executed what;
  std::uint64_t a = 0;  // executions
  std::uint64_t b = 0;
};

// What only one of two runs did, then what both did, but not equally often. Of each the program's
// own files before libraries, and the C library last; the largest first.
std::vector<Difference> differences(const Spectrum& a, const Spectrum& b);

// How well something tells failing from passing runs: 1 for what is in all failing runs and in no
// passing one (the coefficient of Ochiai).
struct Suspect {
  Executed what;
  std::uint32_t failing = 0;  // runs that executed it
  std::uint32_t passing = 0;
  double score = 0;
};

// What is in at least one failing run and not in all passing ones alike, the highest score first.
std::vector<Suspect> suspects(std::span<const Spectrum> failing, std::span<const Spectrum> passing);

}  // namespace hodo::ask
