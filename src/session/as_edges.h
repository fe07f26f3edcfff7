// Branches as edges that ran once each, where nothing counts them.
#pragma once

#include <vector>

#include "hodo/session/sink.h"

namespace hodo::session {

class AsEdges final : public BranchSink {
 public:
  explicit AsEdges(EdgeSink& sink) : sink_(sink) {}
  bool branches(const Context& context, std::span<const Branch> batch) override {
    edges_.clear();
    for (const Branch& b : batch) edges_.push_back({b.from, b.to, 1, b.kind, b.flags});
    return sink_.edges(context, edges_);
  }

 private:
  EdgeSink& sink_;
  std::vector<flow::EdgeCount> edges_;
};

}  // namespace hodo::session
