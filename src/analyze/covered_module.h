// What ran of one file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "executions.h"
#include "function_code.h"
#include "function_texts.h"
#include "hodo/analyze/coverage.h"
#include "hodo/symbol/symbol_table.h"

namespace hodo::analyze {

class ModuleBuilder {
 public:
  // Of a file with `table`, mapped `bias` above its own addresses in `space` at `time`; or code in
  // no file (null), with the process's addresses.
  ModuleBuilder(std::string path, const symbol::SymbolTable* table, std::uint64_t bias,
                std::uint32_t space, std::uint64_t time);

  // In order of address.
  void add_run(std::uint64_t first, std::uint64_t end, std::uint64_t count);
  void add_edge(const CoveredEdge& edge) { module_.edges.push_back(edge); }
  // The modules that edges lead to: `places`, by the numbers that they were added with.
  void renumber(std::span<const std::uint32_t> places) {
    for (CoveredEdge& edge : module_.edges) edge.to_module = places[edge.to_module];
  }

  CoveredModule finish(session::Session& session, CoverageParts parts);

 private:
  struct Run {
    std::uint64_t first;
    std::uint64_t end;
  };
  void merge_edges();
  // Those with code, each once.
  std::vector<const symbol::Symbol*> functions_of_table() const;
  FunctionTexts texts_of(std::span<const symbol::Symbol* const> functions,
                         session::Session& session) const;
  void add_functions(session::Session& session);
  void add_functions_that_ran(session::Session& session);
  void add_function(const symbol::Symbol& symbol, std::span<const std::uint8_t> code);
  void add_other_blocks();
  void add_lines(bool branches);
  void add_branches(const std::vector<symbol::LineRow>& rows);
  const CoveredFunction* function_at(std::uint64_t address) const;

  CoveredModule module_;
  const symbol::SymbolTable* table_;
  std::uint64_t bias_;
  std::uint32_t space_;
  std::uint64_t time_;
  std::vector<Run> runs_;
  std::vector<std::uint64_t> entries_;  // where runs begin, ascending
  Executions executions_;
  std::vector<std::uint64_t> conditionals_;
};

}  // namespace hodo::analyze
