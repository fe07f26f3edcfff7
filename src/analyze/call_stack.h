// One thread's stack, rebuilt from its branches.
#pragma once

#include <cstdint>
#include <vector>

#include "call_paths.h"
#include "functions.h"
#include "hodo/flow/branch.h"
#include "return_sites.h"

namespace hodo::analyze {

class CallStack {
 public:
  // As many frames as a stack of 16 MiB can have; a deeper one is nobody's.
  static constexpr std::size_t kDeepest = std::size_t{1} << 20;

  // All must outlive the stack.
  CallStack(Functions& functions, CallPaths& paths, ReturnSites& sites, CallThread& thread);

  // `now`: nanoseconds, 0 if unknown.
  void branch(std::uint32_t space, const Branch& branch, std::uint64_t now);

 private:
  enum class Entered : std::uint8_t {
    first,    // the path begins in it
    called,   // leaves to behind `site`
    jumped,   // by a tail call: leaves together with the frame below
    outside,  // from the kernel or from where a filter hides the path; `site` is where that
              // happened
  };
  struct Frame {
    Located function;
    std::uint64_t site = 0;  // 0: none, or unknown
    std::uint32_t node = 0;
    Entered how = Entered::first;
  };

  void count(const Branch& branch, std::uint64_t now);
  void lost(const Branch& branch);
  void begun(const Branch& branch);
  void called(const Branch& branch);
  void returned(const Branch& branch);
  void jumped(const Branch& branch);

  void start(const Branch& branch, bool known_start);
  void push(const Located& function, Entered how, std::uint64_t site);
  void enter_from_stub(const Branch& branch);
  void leave_resolver(const Located& function);
  std::uint32_t unknown_caller();
  // Removes the frames above `keep` frames.
  void cut(std::size_t keep) { frames_.resize(keep); }
  // The number of frames below the one that was entered at `address`, less up to an instruction's
  // length; frames_.size() if none was.
  std::size_t below_entry_from(std::uint64_t address) const;
  // The number of frames up to the uppermost one of `function`; 0 if there is none.
  std::size_t up_to(const Located& function) const;
  std::size_t up_to_in_jumps(const Located& function) const;
  void leave_function();
  std::uint32_t top_node() const { return frames_.empty() ? thread_.root : frames_.back().node; }
  const Located& locate(std::uint64_t address, std::uint64_t time) {
    return functions_.at(space_, address, time);
  }

  Functions& functions_;
  CallPaths& paths_;
  ReturnSites& sites_;
  CallThread& thread_;
  std::vector<Frame> frames_;
  std::uint32_t space_ = 0;
  bool started_ = false;  // in this address space
  std::uint64_t last_time_ = 0;
  std::uint64_t ended_at_ = 0;  // where tracing stopped and may go on; 0: it has not
};

}  // namespace hodo::analyze
