// From Error values to Python's exceptions.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <string>
#include <utility>

#include "hodo/base/result.h"

namespace hodo::python {

// Becomes hodoscope.Error.
class Failure : public std::exception {
 public:
  Failure(std::string message, std::string cause)
      : message_(std::move(message)), cause_(std::move(cause)) {}
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& cause() const { return cause_; }

 private:
  std::string message_;
  std::string cause_;
};

// In the words in which a command says it: "FILE: what".
[[noreturn]] void raise(const Error& error, const std::string& file);

// Whether Ctrl-C was pressed, or another signal's handler raised: then the exception is set. Takes
// the GIL.
bool was_interrupted();

void add_errors(pybind11::module_& module);

}  // namespace hodo::python
