#include <fmt/format.h>

#include <iterator>

#include "writers.h"

namespace hodo::exports {
namespace {

using analyze::Jump;

std::string place(std::uint64_t address) {
  return address == Jump::kElsewhere ? "X:0" : fmt::format("{:x}", address);
}

}  // namespace

void bolt(const analyze::FileJumps& file, view::Output& out) {
  for (const Jump& jump : file.jumps) {
    fmt::format_to(std::back_inserter(out.buffer()), "B {} {} {} {}\n", place(jump.from),
                   place(jump.to), jump.count, jump.mispredicted);
    out.checkpoint();
  }
  for (const analyze::StraightLine& line : file.lines) {
    // It reads no stubs, and takes lines in them for signs that the profile is another program's.
    if (line.stub) continue;
    fmt::format_to(std::back_inserter(out.buffer()), "F {:x} {:x} {}\n", line.first, line.last,
                   line.count);
    out.checkpoint();
  }
}

}  // namespace hodo::exports
