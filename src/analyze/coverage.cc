#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "coverage_counts.h"
#include "covered_module.h"

namespace hodo::analyze {
namespace {

// Sorts what was counted at the addresses of processes by the files that they come from.
class CoverageBuilder {
 public:
  CoverageBuilder(const CoverageCounts::State& counts, session::Session& session)
      : counts_(counts), session_(session) {}

  Coverage build(CoverageParts parts) {
    for (const PairCount& run : sorted(counts_.runs)) add_run(run);
    for (const PairCount& edge : sorted(counts_.edges)) add_edge(edge);
    Coverage out{.dropped = counts_.runs.dropped() + counts_.edges.dropped()};
    // By path: in which order they ran first hangs on how many threads have counted.
    std::vector<std::uint32_t> places(modules_.size());
    std::uint32_t place = 0;
    for (const auto& [name, number] : numbers_) places[number] = place++;
    for (const auto& [name, number] : numbers_) {
      modules_[number].renumber(places);
      out.modules.push_back(modules_[number].finish(session_, parts));
    }
    return out;
  }

 private:
  struct Located {
    std::uint32_t module;
    std::uint64_t bias;  // address in the process less that in the module
  };

  Located locate(const PairCount& pair, std::uint64_t address) {
    session::Object object = session_.names().object(pair.space, address, pair.time);
    std::uint64_t bias = 0;
    bool file = false;
    if (object.table != nullptr) {
      if (auto vaddr = object.table->elf().vaddr_of(object.offset)) {
        bias = address - *vaddr;
        file = true;
      }
    }
    // Without the file an address in the process is all there is.
    auto [it, fresh] = numbers_.try_emplace({object.path, file}, modules_.size());
    if (fresh) {
      modules_.emplace_back(object.path, file ? object.table : nullptr, bias, pair.space,
                            pair.time);
    }
    return {it->second, bias};
  }

  void add_run(const PairCount& run) {
    Located where = locate(run, run.from);
    std::uint64_t end = run.to;
    if (!run.not_taken) end += length_at(run);
    modules_[where.module].add_run(run.from - where.bias, end - where.bias, run.count);
  }

  void add_edge(const PairCount& edge) {
    Located from = locate(edge, edge.from);
    Located to = locate(edge, edge.to);
    modules_[from.module].add_edge({.from = edge.from - from.bias,
                                    .to = edge.to - to.bias,
                                    .to_module = to.module,
                                    .count = edge.count,
                                    .kind = edge.kind,
                                    .not_taken = edge.not_taken});
  }

  // Of the instruction that ends a run.
  std::uint64_t length_at(const PairCount& run) {
    std::array<std::uint8_t, 15> bytes{};
    std::size_t size = session_.read_code(run.space, run.to, run.time, bytes);
    isa::Mode mode = session_.mode(run.space, run.time);
    auto insn = isa::decode(std::span(bytes).first(size), run.to, mode);
    return insn ? insn->length : 1;
  }

  const CoverageCounts::State& counts_;
  session::Session& session_;
  std::vector<ModuleBuilder> modules_;
  std::map<std::pair<std::string, bool>, std::uint32_t> numbers_;
};

}  // namespace

Coverage coverage_of(const CoverageCounts& counts, session::Session& session, CoverageParts parts) {
  return CoverageBuilder(counts.state(), session).build(parts);
}

}  // namespace hodo::analyze
