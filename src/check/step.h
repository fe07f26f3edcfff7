// What the checker keeps of a thread from one branch to the next, and of the branch at hand.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "doubt.h"
#include "edge_cache.h"
#include "gadget_chain.h"
#include "hodo/check/finding.h"
#include "hodo/check/recent.h"
#include "hodo/flow/branch.h"
#include "hodo/flow/decoder.h"
#include "hodo/session/sink.h"
#include "shadow_stack.h"

namespace hodo::check {

// A process from its beginning to its end, by number and start: spaces are counted anew with each
// session of a recording.
using Life = std::pair<std::int32_t, std::uint64_t>;

// A call through a slot for which the dynamic linker looks up the function.
struct Binding {
  std::string_view name;  // lives as long as the caller's module
};

// What was found last in a thread. What is found within so many branches is a step of it: they are
// those that are shown with a finding.
struct Attack {
  static constexpr std::uint64_t kReach = Finding::kBefore;
  std::uint64_t number = 0;    // Finding::attack; 0: nothing was found
  std::uint64_t position = 0;  // of the branch
};

struct Thread {
  std::optional<Life> life;
  bool fresh = true;  // nothing of it has been seen
  ShadowStack stack;
  Recent recent;
  GadgetChain returns;
  GadgetChain jumps;
  std::vector<std::size_t> open;  // findings that still collect what comes after
  Doubt doubt;
  Attack attack;
  std::uint64_t executed = 0;         // branches before the row at work
  std::uint64_t loader_call = 0;      // behind the last call of dlopen through a pointer
  std::uint64_t loader_attack = 0;    // the attack that this call is a step of, or 0
  std::optional<Branch> system_call;  // the one that the thread is in
  // The path stopped at such an instruction, which may be what leads on: a far one, or a near one
  // that the kernel makes. Where the next one is.
  FarBranch far = FarBranch::none;
  std::optional<isa::Insn> branch_at;
  std::uint64_t behind_insn = 0;
  std::uint64_t breakpoint = 0;   // the path stopped at one, End::is_breakpoint()
  bool left_probes = false;       // what it left, or was last in, is the kernel's page of probes
  std::vector<Binding> bindings;  // the last that began last
};

struct Batch {
  const session::Context& context;
  Thread& thread;
  // What came, and where the row at work begins in it: one of both.
  const flow::Repeats* repeats = nullptr;
  const flow::Passages* passages = nullptr;
  flow::Repeats::Position at{};
  flow::Passages::Position passed{};
  std::uint64_t time = 0;
  std::uint32_t generation = 0;  // of the mappings at that time
  std::uint64_t salt = 0;        // of both
  bool steady = false;           // the same for all branches

  // What the thread did last: `before` is what came of the row at work.
  std::vector<Branch> recent(std::span<const Branch> before) const {
    return passages == nullptr ? thread.recent.list(*repeats, at, before)
                               : thread.recent.list(*passages, passed, before);
  }
};

// One branch at work.
struct Step {
  const session::Context& context;
  const Branch& branch;
  Thread& thread;
  KnownEdge& edge;
  const Batch& batch;
  std::span<const Branch> before;  // of the row at work

  std::vector<Branch> recent() const { return batch.recent(before); }
  // How many branches of the thread came before.
  std::uint64_t position() const { return thread.executed + before.size(); }
};

inline bool is_near_transfer(BranchKind kind) { return kind <= BranchKind::ret; }

}  // namespace hodo::check
