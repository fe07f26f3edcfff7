#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "writers.h"

namespace hodo::exports {
namespace {

using analyze::Jump;

// Addresses are less `base`.
void write_lines(const analyze::FileJumps& file, std::uint64_t base, view::Output& out) {
  out.write(fmt::format("{}\n", file.lines.size()));
  for (const analyze::StraightLine& line : file.lines) {
    fmt::format_to(std::back_inserter(out.buffer()), "{:x}-{:x}:{}\n", line.first - base,
                   line.last - base, line.count);
    out.checkpoint();
  }
}

// Those within the file: the readers know no other addresses.
void write_jumps(const analyze::FileJumps& file, std::uint64_t base, view::Output& out) {
  const auto within = [](const Jump& jump) {
    return jump.from != Jump::kElsewhere && jump.to != Jump::kElsewhere;
  };
  out.write(fmt::format("{}\n", std::ranges::count_if(file.jumps, within)));
  for (const Jump& jump : file.jumps) {
    if (!within(jump)) continue;
    fmt::format_to(std::back_inserter(out.buffer()), "{:x}->{:x}:{}\n", jump.from - base,
                   jump.to - base, jump.count);
    out.checkpoint();
  }
}

}  // namespace

// create_llvm_prof adds the address of the file's first segment to those of a profile.
void autofdo(const analyze::FileJumps& file, view::Output& out) {
  write_lines(file, file.base, out);
  out.write("0\n");
  write_jumps(file, file.base, out);
}

void llvm_profgen(const analyze::FileJumps& file, view::Output& out) {
  write_lines(file, 0, out);
  write_jumps(file, 0, out);
}

}  // namespace hodo::exports
