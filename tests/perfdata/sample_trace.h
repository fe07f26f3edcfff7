// A program of a few instructions and the Intel PT packets of its run, written as a recording.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/perfdata/writer.h"

namespace hodo::perfdata {

inline constexpr std::uint64_t kCodeAddress = 0x401000;

// 401000 xor eax,eax; 401002 inc eax; cmp eax,3; 401007 jne 401002; 401009 call 401010;
// 40100e syscall; 401010 ret
inline const std::vector<std::uint8_t> kCode = {0x31, 0xc0, 0xff, 0xc0, 0x83, 0xf8,
                                                0x03, 0x75, 0xf9, 0xe8, 0x02, 0x00,
                                                0x00, 0x00, 0x0f, 0x05, 0xc3};

// PSB, TSC 2000, MODE.Exec 64, PSBEND, TIP.PGE 401000, TNT (taken, taken, not taken; the compressed
// return), TIP.PGD without an IP.
inline const std::vector<std::uint8_t> kPackets = {
    0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02,
    0x82, 0x02, 0x82, 0x19, 0xd0, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x99, 0x01,
    0x02, 0x23, 0x71, 0x00, 0x10, 0x40, 0x00, 0x00, 0x00, 0x3a, 0x01};

inline const std::vector<std::string> kBranches = {"0 => 401000",      "401007 => 401002",
                                                   "401007 => 401002", "401009 => 401010",
                                                   "401010 => 40100e", "40100e => 0"};

inline WriterOptions sample_options() {
  WriterOptions options;
  options.cmdline = {"hodo", "record", "--", "prog"};
  options.version = "hodoscope test";
  return options;
}

// Everything up to the end of the traced program. `code` writes the records that show where the
// code is.
template <class ShowCode>
Status write_run(Writer& writer, std::int32_t pid, ShowCode show_code) {
  const Stamp begin{pid, pid, 1000, 0};
  const Stamp end{pid, pid, 4000, 0};
  const std::span<const std::uint8_t> packets(kPackets);
  Auxtrace where;
  where.idx = static_cast<std::uint32_t>(pid);
  where.tid = pid;
  Status status = writer.comm({pid, pid, "prog", true}, begin);
  if (status) status = show_code(writer, begin);
  if (status) status = writer.itrace_start({pid, pid}, begin);
  if (status) status = writer.aux({0, kPackets.size(), 0}, end);
  if (status) status = writer.auxtrace(where, {&packets, 1});
  if (status) status = writer.exit({pid, 1, pid, 1, 4000}, end);
  if (status) status = writer.finished_round();
  return status;
}

inline Status keep_code(Writer& writer, const Stamp& stamp) {
  return writer.code(kCodeAddress, kCode, stamp);
}

}  // namespace hodo::perfdata
