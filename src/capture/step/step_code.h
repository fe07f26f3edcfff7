// What one step of a stopped thread did, told from the code that it stood at.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "hodo/isa/insn.h"

namespace hodo::capture {

// The bytes of a process's code; up to `out.size()` of them, fewer where unmapped memory follows.
class CodeReader {
 public:
  virtual ~CodeReader() = default;
  virtual std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) = 0;
};

// Reads through process_vm_readv(2).
class ProcessCode final : public CodeReader {
 public:
  explicit ProcessCode(pid_t pid) : pid_(pid) {}
  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) override;

 private:
  pid_t pid_;
};

struct SteppedInsn {
  std::uint64_t address = 0;
  isa::Insn insn;
  std::array<std::uint8_t, 15> bytes{};
};

// The instruction at `address`; nullopt where there is none.
std::optional<SteppedInsn> insn_at(CodeReader& code, std::uint64_t address, isa::Mode mode);

// Execution went on at `to` behind this one instruction: by a branch?
bool branched(const SteppedInsn& at, std::uint64_t to);

// How the straight line of code from an address on may be left.
struct Line {
  // One step of branches (BTF) over it tells which branch was taken: no two lead to the same place.
  bool tells = false;
  // Calls into the kernel; it ends there.
  bool system_call = false;
};
Line look_ahead(CodeReader& code, std::uint64_t start, isa::Mode mode);

// The branch by which one step of branches from `start` came to `to`; nullopt if none explains it.
std::optional<SteppedInsn> branch_taken(CodeReader& code, std::uint64_t start, std::uint64_t to,
                                        isa::Mode mode);

}  // namespace hodo::capture
