// Who ran on each processor when, and what: of recordings that have a trace for each of them.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "overview.h"

namespace hodo::serve {

// Notes a processor's branches as turns, in bounded memory: when there are too many, neighbours
// that together are no longer than a grain become one.
class ProcessorBuilder {
 public:
  explicit ProcessorBuilder(std::size_t most_turns = Processor::kMostTurns) : most_(most_turns) {}

  // The next branch of a processor, executed by the thread of that lane; `after`: of the thread,
  // with the branch; `time`: nanoseconds, 0: unknown.
  void branch(std::int32_t cpu, std::uint32_t lane, const Branch& branch,
              const analyze::CallClock& after, std::uint64_t time);
  std::vector<Processor> take();  // by number

 private:
  void shrink();

  std::size_t most_;
  std::size_t used_ = 0;
  Grain grain_;
  std::map<std::int32_t, Processor> all_;
};

// A part of a processor's path as rows: whose turn it was, and below that the calls of who ran.
struct ProcessorPart {
  Lane lane;
  std::vector<SliceName> names;        // of its slices; of the first row, of threads
  std::vector<ask::ThreadId> threads;  // that each name is of
};
// What is narrower than `pixel` on the range's axis has nothing below it.
ProcessorPart part_of_processor(const Processor& processor, const Overview& overview,
                                const session::Session& session, const Range& range,
                                std::uint64_t pixel);

}  // namespace hodo::serve
