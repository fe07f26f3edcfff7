// What runtimes that generate code tell perf about it: /tmp/perf-PID.map and jit-PID.dump.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hodo/base/result.h"

namespace hodo::symbol {

struct JitFunction {
  std::uint64_t time = 0;  // from when it is there; see JitDump. 0 in a perf map: always
  std::uint64_t address = 0;
  std::uint64_t size = 0;              // bytes, never 0
  std::string name;                    // raw
  std::span<const std::uint8_t> code;  // as long as the bytes that were read; empty in a perf map
};

// More functions than this are left out: a program that makes so many makes them up.
inline constexpr std::size_t kMostJitFunctions = std::size_t{1} << 20;

// A perf map (tools/perf/Documentation/jit-interface.txt): lines of "START SIZE name", numbers in
// hex with or without 0x, names with blanks. In the file's order: of functions at one address the
// last one counts. Lines of another form are left out, as perf does.
std::vector<JitFunction> read_perf_map(std::span<const std::uint8_t> text);

struct JitDump {
  std::uint32_t pid = 0;
  bool ticks =
      false;  // times are those of the processor's time stamp counter, not of a clock in ns
  std::vector<JitFunction> functions;  // in the file's order
  bool cut_off = false;                // what follows the last function is damaged or missing
};

// A jitdump file (tools/perf/Documentation/jitdump-specification.txt), version 1: JIT_CODE_LOAD,
// and JIT_CODE_MOVE of what was loaded before. Other records are skipped. Errors: malformed for
// what is no jitdump; unsupported for other versions, big-endian files and other processors.
Result<JitDump> read_jitdump(std::span<const std::uint8_t> bytes);

}  // namespace hodo::symbol
