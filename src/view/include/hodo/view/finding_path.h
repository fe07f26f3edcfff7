// The branches around a finding that matter to people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hodo/check/finding.h"
#include "hodo/session/session.h"

namespace hodo::view {

// A branch, or several that are not worth a line each.
struct PathLine {
  const Branch* branch = nullptr;  // of the finding; null: `hidden` ones
  bool itself = false;             // the one that was found
  std::size_t hidden = 0;
  std::string where;  // whose functions those stay in, printable; empty: they are further away
};

// What leads from one function to another. What stays in a function, the dynamic linker and the
// C library's functions of strings and memory are hidden, and what is far from the finding.
std::vector<PathLine> path_that_matters(const check::Finding& finding,
                                        const session::Session& session);
// Every branch.
std::vector<PathLine> whole_path(const check::Finding& finding);
// "14 branches in strcmp", "20 branches before these".
std::string hidden_text(const PathLine& line);

}  // namespace hodo::view
