// What the unwind tables of an ELF file say about its code: where functions begin and end, and
// where exceptions land. They survive stripping, since unwinding needs them.
//
// Sources: LSB 5.0, "Exception Frames" (.eh_frame, .eh_frame_hdr); the layout of .gcc_except_table
// as GCC's unwind-c.c and unwind-pe.h read it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace hodo::image {

struct FunctionRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // behind the last byte
  // Where it begins more lies on the stack than a call leaves: it is the rest of a function that
  // lies elsewhere (GCC's .cold parts, clang's sections of basic blocks).
  bool part = false;
};

// While code in [begin, end) calls, an exception lands at `pad`.
struct LandingPad {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t pad = 0;
};

struct UnwindTables {
  std::vector<FunctionRange> functions;  // in the file's order
  std::vector<LandingPad> landings;      // in the order of functions
  // What the unwinder calls for a function, where .eh_frame names it itself and not a word that
  // holds its address.
  std::vector<std::uint64_t> personalities;
  FunctionRange frames;  // where .eh_frame lies; empty: there is none
  bool complete = true;  // false: something was damaged and is missing here
};

// Where the tables are read from.
struct UnwindSource {
  // The file's bytes from `vaddr` to the end of what lies there in one piece; empty: none.
  std::function<std::span<const std::uint8_t>(std::uint64_t vaddr)> at;
  std::optional<std::uint64_t> header;  // the address of .eh_frame_hdr
  std::optional<std::uint64_t> frames;  // that of .eh_frame, where there is no header
  std::uint64_t size = 0;               // of the file
  bool narrow = false;                  // a file of 32 bits
};

// Never fails: what cannot be read is not there.
UnwindTables read_unwind_tables(const UnwindSource& source);

}  // namespace hodo::image
