// The calls of each thread in the order in which they begin and end: what timelines are drawn from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hodo/analyze/call_tree.h"
#include "hodo/session/clock.h"
#include "hodo/session/names.h"
#include "hodo/session/sink.h"

namespace hodo::analyze {

// What slices are long in.
enum class SliceAxis : std::uint8_t {
  time,          // nanoseconds; 0 as long as none is known
  instructions,  // that the thread has executed
};

// Hears of a thread's calls. What is opened is closed in the reverse order before the next thread
// begins, and places on the axis never decrease within a thread. False: enough.
class SliceSink {
 public:
  virtual ~SliceSink() = default;
  virtual bool thread(const session::Context& who) = 0;
  // References are valid during the call; `number` is the function's in all calls.
  virtual bool open(std::uint32_t number, const Function& function, std::uint64_t at) = 0;
  virtual bool close(std::uint32_t number, std::uint64_t at) = 0;
};

// Follows calls by the rules of CallTree. Where a part of the path was lost, a slice "[lost]" says
// so. A thread that comes again after another one begins anew. Call finish() behind the last
// branch.
class CallSlices final : public session::BranchSink {
 public:
  // `names` and `sink` must outlive this. Calls deeper than `depth` are left out.
  CallSlices(const session::Names& names, session::Clock clock, SliceAxis axis, std::size_t depth,
             SliceSink& sink);
  ~CallSlices() override;

  bool branches(const session::Context& context, std::span<const Branch> batch) override;
  void finish();
  // A time was wanted, and no branch had any.
  bool timeless() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hodo::analyze
