#include "errors.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hodo/serve/rpc.h"
#include "hodo/view/text.h"

namespace hodo::python {

void raise(const Error& error, const std::string& file) {
  const serve::Json said = serve::error_json(serve::kQuestionFailed, error.message, &error);
  std::string message = error.message;
  for (const char* const end : {": ", " "}) {
    if (message.starts_with(file + end)) message.erase(0, (file + end).size());
  }
  message = view::printable(message);
  // What is wrong at byte 0 is wrong with the whole file.
  if (error.offset != Error::kNoOffset && error.offset != 0) {
    message += fmt::format(" (at byte {:#x})", error.offset);
  }
  if (error.code != ErrorCode::usage) message.insert(0, view::printable(file) + ": ");
  throw Failure(std::move(message), said["data"]["cause"].get<std::string>());
}

bool was_interrupted() {
  const pybind11::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

void add_errors(pybind11::module_& module) {
  static pybind11::object type;
  type = pybind11::reinterpret_steal<pybind11::object>(
      PyErr_NewExceptionWithDoc("hodoscope.Error",
                                "What cannot be answered. str() is what the command says; `cause` "
                                "a word for programs, as in docs/serve.md.",
                                PyExc_Exception, nullptr));
  module.attr("Error") = type;
  pybind11::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      const pybind11::object error = type(failure.what());
      error.attr("cause") = failure.cause();
      PyErr_SetObject(type.ptr(), error.ptr());
    }
  });
}

}  // namespace hodo::python
