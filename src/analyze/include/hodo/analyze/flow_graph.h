// The control flow graph of one function, and what of it has run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/analyze/coverage.h"
#include "hodo/base/result.h"
#include "hodo/session/session.h"

namespace hodo::analyze {

struct GraphInsn {
  std::uint64_t address = 0;  // in the process
  std::string text;           // in Intel's syntax
  std::uint64_t target = 0;   // of a direct branch
  // Times that it was executed: less than its block was entered where a signal or a call that does
  // not come back ended that early, more where one returned into its midst.
  std::uint64_t count = 0;
};

// A stretch of instructions that is entered at its start only and left at its end only; calls
// inside of it come back.
struct GraphBlock {
  std::vector<GraphInsn> insns;  // at least one
  std::uint64_t count = 0;       // times that its first instruction was executed
};

struct GraphEdge {
  enum class Kind : std::uint8_t {
    next,      // to the next instruction
    taken,     // of a conditional branch
    jump,      // a direct jump
    indirect,  // a jump through a register or memory: to where it went, not to where it could
  };
  // As GraphEdge::to: a place outside of the function.
  static constexpr std::uint32_t kOutside = ~std::uint32_t{0};

  std::uint32_t from = 0;    // index in FlowGraph::blocks
  std::uint32_t to = 0;      // the same, or kOutside
  std::uint64_t target = 0;  // address
  std::uint64_t count = 0;   // times that it was executed
  Kind kind = Kind::next;
};

struct FlowGraph {
  std::string function;            // demangled, raw
  std::string object;              // path of the mapped file, raw; may be empty
  std::uint64_t address = 0;       // of its start, in the first process that ran it
  std::uint32_t space = 0;         // that process, for session::Names
  std::uint64_t time = 0;          // when that was
  std::uint64_t size = 0;          // bytes
  std::vector<GraphBlock> blocks;  // by address
  std::vector<GraphEdge> edges;    // by from, in no order within it
  std::uint64_t undecoded = 0;     // bytes at its end that are not code, or whose code is not known
};

// Of the function that `name` means (FunctionName), or that has the address "0x401230" (before
// relocation, or where it ran), in an object whose path contains `object`.
// Counts of all processes that mapped the same file add up; the code is that of the first one that
// ran it. usage: no such function ran, or several of that name did; the message lists these, or
// names that are like it, and says what the counts are of: `part`.
Result<FlowGraph> flow_graph(const CoverageCounts& counts, session::Session& session,
                             const std::string& name, const std::string& object,
                             const std::string& part = "this recording");

}  // namespace hodo::analyze
