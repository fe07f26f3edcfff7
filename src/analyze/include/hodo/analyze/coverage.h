// Which code has run: functions, basic blocks, edges and source lines, with exact counts.
//
// Addresses in the results are those of the file before relocation ("vaddr", what nm and objdump
// print), so that processes and runs that map it elsewhere add up. Code that lies in no file has
// the addresses of the process.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hodo/session/session.h"
#include "hodo/session/sink.h"

namespace hodo::analyze {

// A stretch of instructions that only its last one leaves and that nothing enters in its middle.
struct CoveredBlock {
  std::uint64_t address = 0;
  std::uint32_t size = 0;   // bytes
  std::uint64_t count = 0;  // times that it was executed; 0: known from the function's code only
};

struct CoveredEdge {
  std::uint64_t from = 0;  // of the branch instruction
  std::uint64_t to = 0;
  std::uint32_t to_module = 0;  // index in Coverage::modules
  std::uint64_t count = 0;
  BranchKind kind = BranchKind::lost;
  bool not_taken = false;  // a conditional branch that fell through to `to`
};

struct CoveredFunction {
  std::string name;  // as in the file: mangled, raw
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t entered = 0;  // executions of its first instruction
  std::uint32_t blocks = 0;
  std::uint32_t blocks_hit = 0;
  std::uint32_t file = ~std::uint32_t{0};  // of its first line, in CoveredModule::files
  std::uint32_t line = 0;                  // 0: unknown
  bool synthetic = false;                  // no name in the file: symbol::SymbolKind::synthetic
  bool listed = true;                      // its blocks are in CoveredModule::blocks
};

struct CoveredLine {
  std::uint32_t file = 0;  // index in CoveredModule::files
  std::uint32_t line = 0;
  std::uint64_t count = 0;  // executions of its most executed instruction
};

// A conditional branch of a function with lines.
struct CoveredBranch {
  std::uint64_t address = 0;
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint64_t taken = 0;
  std::uint64_t not_taken = 0;
};

struct CoveredModule {
  std::string path;          // raw; "[anon]" and the like for code in no file; may be empty
  std::string location;      // session::Object::location()
  bool file = false;         // functions are known, and addresses count from `lowest`
  std::uint64_t base = 0;    // where `lowest` was mapped, in the first process that ran it
  std::uint64_t lowest = 0;  // the file's first page, before relocation
  std::uint64_t size = 0;    // bytes from there to the end of its last segment
  std::vector<CoveredFunction> functions;  // with symbols and code; by address
  std::vector<CoveredBlock> blocks;        // by address
  std::vector<CoveredEdge> edges;          // that leave this module; by from, to
  std::vector<std::string> files;          // source files, raw
  std::vector<CoveredLine> lines;          // of its functions; by file and line
  std::vector<CoveredBranch> branches;     // by address
};

struct Coverage {
  std::vector<CoveredModule> modules;  // in which anything ran; in order of first execution
  std::uint64_t dropped = 0;           // branches that are not in it: there were too many different
};

// Counts while decoding (session::Session::cover), in memory bounded by the distinct code that ran.
class CoverageCounts final : public session::RunSink {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 21;  // distinct edges, and runs of code

  // `names`, those of the session that is decoded, must outlive the counts.
  explicit CoverageCounts(const session::Names& names, std::size_t most = kMost);
  ~CoverageCounts() override;

  bool runs(const session::Context& context, std::span<const flow::RunCount> batch) override;

  struct State;
  const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// What of it somebody wants.
struct CoverageParts {
  // Source lines, which take a while for large files with DWARF.
  bool lines = true;
  // The blocks of functions of which nothing ran, and where they branch. False: how many there are
  // is enough (CoveredFunction::listed), and is kept for the next time.
  bool not_run = true;
};

// What the counts come to. Reads symbols, lines and code of the files that ran; functions are
// disassembled from their start to their end to find the blocks that did not run.
Coverage coverage_of(const CoverageCounts& counts, session::Session& session, CoverageParts parts);

}  // namespace hodo::analyze
