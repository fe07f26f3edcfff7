// Call trees and open calls as text, for tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "fixture.h"
#include "hodo/analyze/call_tree.h"
#include "hodo/analyze/open_calls.h"

namespace hodo::analyze {

inline session::Clock nanosecond_clock() {
  return session::Clock(perfdata::TimeConversion{.shift = 0, .mult = 1, .zero = 0});
}

// "main:1/5(f:1/3) ..." : name:calls/own instructions(children in order of first entry).
inline std::string shape(const CallTree& tree) {
  std::vector<std::string> below(tree.nodes().size());
  std::string all;
  for (std::size_t i = tree.nodes().size(); i-- > 1;) {
    const CallNode& node = tree.nodes()[i];
    std::string inside = below[i].empty() ? "" : "(" + below[i] + ")";
    if (node.parent == CallNode::kNone) {
      all = below[i] + (all.empty() ? "" : " | " + all);
      continue;
    }
    std::string text = tree.functions()[node.function].name + ":" + std::to_string(node.calls) +
                       "/" + std::to_string(node.instructions) + inside;
    std::string& siblings = below[node.parent];
    siblings = text + (siblings.empty() ? "" : " " + siblings);
  }
  return all;
}

inline std::string shape_of(const Path& path) {
  Program program;
  CallTree tree(program, nanosecond_clock());
  tree.branches({.pid = 1, .tid = 1}, path.branches());
  return shape(tree);
}

inline std::string text_of(const SavedCalls& calls) {
  std::string out = calls.started ? "started" : "";
  const auto add = [&out](std::initializer_list<std::uint64_t> numbers) {
    for (const std::uint64_t number : numbers) out += " " + std::to_string(number);
    out += ";";
  };
  const auto add_clock = [&](const CallClock& clock) {
    add({clock.branches, clock.instructions, clock.time, clock.ticks});
  };
  add({calls.space, calls.last_time, calls.ended_at, calls.last_loss});
  add_clock(calls.clock);
  for (const SavedCall& call : calls.open) {
    add({call.site, call.entry, static_cast<std::uint64_t>(call.how), call.by_call ? 1u : 0u,
         call.made_branch, call.made_insn});
    add_clock(call.since);
  }
  for (const SetJump& jump : calls.set_jumps) add({jump.level, jump.site});
  return out;
}

}  // namespace hodo::analyze
