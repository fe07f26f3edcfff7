// Functions as people write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hodo/analyze/call_tree.h"

namespace hodo::analyze {

// A function as people write it: "parse", "ns::parse(int)", "libc.so.6!malloc"; bytes that are no
// text as outputs show them (written_bytes).
class FunctionName {
 public:
  // `exact`: only what is called just so, none of the compiler's copies, nothing with parameters.
  explicit FunctionName(const std::string& text, bool exact = false);
  bool means(const Function& function) const { return means(function.name, function.object); }
  bool means(std::string_view function, std::string_view object) const;
  const std::string& name() const { return name_; }  // without the object's

 private:
  std::string object_;  // last path component; empty: any
  std::string name_;
  bool exact_;
};

// "; did you mean 'parse', ...?", or empty: names that are like what was written, the nearest
// first.
std::string suggestion(const std::string& written, const std::vector<std::string>& names);
// The same of a function that did not run; or that it was inlined, and how to ask for it then.
std::string suggestion(const std::string& written, const std::vector<std::string>& names,
                       const session::Names& files);
// "not all is known of what the compiler has inlined, as a.dwo is missing; it would be ...", or
// empty: of what has been asked of the files' debug information up to now.
std::string unknown_inlined(const session::Names& files);

}  // namespace hodo::analyze
