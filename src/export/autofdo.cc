#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "writers.h"

namespace hodo::exports {
namespace {

using analyze::Jump;

void write_lines(const analyze::FileJumps& file, view::Output& out) {
  out.write(fmt::format("{}\n", file.lines.size()));
  for (const analyze::StraightLine& line : file.lines) {
    fmt::format_to(std::back_inserter(out.buffer()), "{:x}-{:x}:{}\n", line.first, line.last,
                   line.count);
    out.checkpoint();
  }
}

// Those within the file: the readers know no other addresses.
void write_jumps(const analyze::FileJumps& file, view::Output& out) {
  const auto within = [](const Jump& jump) {
    return jump.from != Jump::kElsewhere && jump.to != Jump::kElsewhere;
  };
  out.write(fmt::format("{}\n", std::ranges::count_if(file.jumps, within)));
  for (const Jump& jump : file.jumps) {
    if (!within(jump)) continue;
    fmt::format_to(std::back_inserter(out.buffer()), "{:x}->{:x}:{}\n", jump.from, jump.to,
                   jump.count);
    out.checkpoint();
  }
}

}  // namespace

void autofdo(const analyze::FileJumps& file, view::Output& out) {
  write_lines(file, out);
  out.write("0\n");
  write_jumps(file, out);
}

void llvm_profgen(const analyze::FileJumps& file, view::Output& out) {
  write_lines(file, out);
  write_jumps(file, out);
}

}  // namespace hodo::exports
