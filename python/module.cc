// The extension module hodoscope._hodo: what hodoscope/__init__.py gives a shape.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "errors.h"
#include "recording.h"

namespace hodo::python {
namespace {

namespace py = pybind11;

serve::OpenOptions open_options(const std::string& path, const std::string& symfs, bool index,
                                const std::string& raw, std::vector<std::string> images, int bits,
                                const std::vector<std::string>& substitute_path) {
  serve::OpenOptions out{.input = {.path = path, .raw = {}, .symfs = symfs},
                         .version = HODO_VERSION,
                         .index = index,
                         .any_other = true};
  for (const std::string& rule : substitute_path) {
    if (const Status added = out.input.sources.add(rule); !added) {
      throw Failure("substitute_path " + added.error().message, "usage");
    }
  }
  if (raw.empty() && !images.empty()) {
    throw Failure("images go with raw; a perf.data file names its own", "usage");
  }
  if (raw.empty()) return out;
  const bool known = raw == "pt" || raw == "bts" || raw == "lbr";
  if (!known) throw Failure("raw is pt, bts or lbr, not '" + raw + "'", "usage");
  const auto kind = raw == "pt"    ? session::RawKind::pt
                    : raw == "bts" ? session::RawKind::bts
                                   : session::RawKind::lbr;
  if (bits != 64 && bits != 32 && bits != 16) throw Failure("bits are 64, 32 or 16", "usage");
  const auto mode = bits == 64   ? isa::Mode::bits64
                    : bits == 32 ? isa::Mode::bits32
                                 : isa::Mode::bits16;
  out.input.raw = session::RawInput{.kind = kind, .images = std::move(images), .mode = mode};
  return out;
}

std::size_t checked_block(std::size_t block) {
  if (block == 0 || block > kMostInBlock) {
    throw Failure("a block has from 1 to " + std::to_string(kMostInBlock) + " rows", "usage");
  }
  return block;
}

template <class Type>
auto add_blocks(py::module_& module, const char* name) {
  return py::class_<Type>(module, name)
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &Type::next)
      .def("close", &Type::close)
      .def("losses_json", &Type::losses);
}

void add_dtypes(py::module_& module) {
  PYBIND11_NUMPY_DTYPE(BranchRow, time, from, to, cr3, cpu, pid, tid, kind, flags, cycles, number,
                       insns, space);
  PYBIND11_NUMPY_DTYPE(CallEntry, at, until, time, duration, instructions, site, pid, tid, queue,
                       function, caller, depth, outcome, space);
  module.attr("branch_dtype") = py::dtype::of<BranchRow>();
  module.attr("call_dtype") = py::dtype::of<CallEntry>();
}

void add_recording(py::module_& module) {
  py::class_<Recording>(module, "Recording")
      .def(py::init([](const std::string& path, const std::string& symfs, bool index,
                       const std::string& raw, std::vector<std::string> images, int bits,
                       const std::vector<std::string>& substitute_path) {
             return std::make_unique<Recording>(
                 open_options(path, symfs, index, raw, std::move(images), bits, substitute_path));
           }),
           py::arg("path"), py::kw_only(), py::arg("symfs") = "", py::arg("index") = true,
           py::arg("raw") = "", py::arg("images") = std::vector<std::string>(),
           py::arg("bits") = 64, py::arg("substitute_path") = std::vector<std::string>())
      .def_property_readonly("path", [](const Recording& self) { return py::bytes(self.path()); })
      .def("ask", &Recording::ask, py::arg("method"), py::arg("params"))
      .def(
          "branches",
          [](const Recording& self, const std::string& thread, std::int32_t pid,
             const std::string& at, const std::string& from, const std::string& to,
             std::uint64_t around, std::uint64_t last, const std::string& call,
             const std::string& function, const std::string& file_name, bool not_taken,
             std::size_t block) {
            return self.branches({.thread = thread,
                                  .pid = pid,
                                  .window = {.at = at,
                                             .from = from,
                                             .to = to,
                                             .around = around,
                                             .last = last,
                                             .call = call,
                                             .function = function,
                                             .module = file_name},
                                  .not_taken = not_taken,
                                  .block = checked_block(block)});
          },
          py::kw_only(), py::arg("thread"), py::arg("pid"), py::arg("at"), py::arg("from_"),
          py::arg("to"), py::arg("around"), py::arg("last"), py::arg("call"), py::arg("function"),
          py::arg("module"), py::arg("not_taken"), py::arg("block"))
      .def(
          "calls",
          [](const Recording& self, const std::string& thread, std::int32_t pid,
             std::size_t block) {
            return self.calls({.thread = thread, .pid = pid, .block = checked_block(block)});
          },
          py::kw_only(), py::arg("thread"), py::arg("pid"), py::arg("block"));
}

}  // namespace
}  // namespace hodo::python

PYBIND11_MODULE(_hodo, module) {
  using namespace hodo::python;
  add_errors(module);
  module.attr("version") = HODO_VERSION;
  add_dtypes(module);
  add_blocks<Blocks<BranchRow>>(module, "BranchBlocks");
  add_blocks<CallBlocks>(module, "CallBlocks").def("functions", [](const CallBlocks& self) {
    std::vector<std::pair<py::bytes, py::bytes>> out;
    for (const FunctionName& one : self.functions()) out.emplace_back(one.name, one.object);
    return out;
  });
  add_recording(module);
}
