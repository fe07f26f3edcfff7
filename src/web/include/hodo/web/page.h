// The page as it was built into the program.
#pragma once

#include <string>
#include <string_view>

#include "hodo/base/result.h"

namespace hodo::web {

struct Page {
  std::string_view html, style, script;
};

// Errors: unsupported: this program was built without it; the message says what to install.
Result<Page> page();

// The page as one file that loads nothing and asks nobody: `answers` is a JSON object
// {"begin": where it begins, "lacks": what it does not contain, "texts": [answer],
// "answers": {question: number of its text}}.
// Errors: no_space.
Result<std::string> standalone(const Page& page, std::string_view answers);

}  // namespace hodo::web
