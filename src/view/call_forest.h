// A call tree made ready to be shown: inclusive weights, children in order, small paths left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/view/calls.h"

namespace hodo::view {

class CallForest {
 public:
  CallForest(const analyze::CallTree& tree, const CallsOptions& options);

  struct Line {
    std::uint32_t node = 0;
    std::uint32_t depth = 0;  // below the thread's root
  };
  // The nodes below `thread`'s root that are to be shown, depth first, costliest child first.
  std::vector<Line> lines(const analyze::CallThread& thread) const;

  std::uint64_t weight(const analyze::CallTree::Totals& totals) const;
  const analyze::CallTree::Totals& total(std::uint32_t node) const { return totals_[node]; }
  std::uint64_t self_weight(std::uint32_t node) const;
  // Nodes that lines() of all threads leaves out.
  std::uint64_t left_out() const { return left_out_; }
  std::uint32_t depth(std::uint32_t node) const { return depths_[node]; }

 private:
  const analyze::CallTree& tree_;
  CallsOptions options_;
  std::vector<analyze::CallTree::Totals> totals_;
  std::vector<std::uint32_t> depths_;
  std::vector<std::uint32_t> first_child_;  // of each node, costliest first, among those shown
  std::vector<std::uint32_t> next_;         // sibling
  std::uint64_t left_out_ = 0;
};

// The name of the thread that the recording knows, raw; empty where it knows none.
std::string thread_name(const session::Session& session, const analyze::CallThread& thread);

}  // namespace hodo::view
