// Where sources lie that debug information names otherwise: they were compiled elsewhere, or the
// compiler was told to write other paths (-ffile-prefix-map).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"

namespace hodo::symbol {

class SourcePaths {
 public:
  // Adds "FROM=TO", as gdb's "set substitute-path FROM TO". usage: it is not written so.
  Status add(std::string_view rule);

  // `path`, where FROM is its begin, with TO in place of it: by the first rule that fits, and only
  // for whole components. FROM "." is the begin of all relative paths, "/" that of the others.
  std::string found(std::string path) const;

 private:
  struct Rule {
    std::string from, to;  // without slashes at the end
  };
  std::vector<Rule> rules_;
};

}  // namespace hodo::symbol
