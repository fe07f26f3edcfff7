// Prints the report of a recording; `hodo record` ends with it, too.
#pragma once

#include "asking.h"
#include "reading.h"

namespace hodo::cli {

struct ReportOptions {
  ReadingOptions reading;
  WindowInput window;
  std::size_t top = 10;
  int output = 1;  // descriptor
};

// The exit status of `hodo report`.
int show_report(const ReportOptions& options);

}  // namespace hodo::cli
