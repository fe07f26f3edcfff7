// Which segments of an index may have what somebody looks for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "hodo/analyze/open_calls.h"
#include "hodo/ask/index.h"
#include "hodo/ask/occurrences.h"

namespace hodo::ask {

// The segments of the selected threads, in order; nullopt where the index does not know whose they
// are.
std::optional<std::vector<std::size_t>> selected_segments(session::Session& session,
                                                          const Index& index,
                                                          const session::Selection& selection);

// Calls of the functions that a name means.
class MeantCallees {
 public:
  // Both must outlive this.
  MeantCallees(const Index& index, analyze::Following& following,
               const analyze::FunctionName& name);

  bool means(std::uint32_t callee) const { return meant_[callee]; }
  // The function that a callee is, in Following::functions().
  std::uint32_t function(std::uint32_t callee) const { return functions_[callee]; }
  bool means_function(std::uint32_t function) const;
  std::uint64_t opened(const Ran& ran) const;
  std::uint64_t closed(const Ran& ran) const;

 private:
  template <class Each>
  void each(const Ran& ran, Each each) const;

  std::vector<bool> meant_;
  std::vector<std::uint32_t> functions_;
};

// Whether code of the places that are looked for may have run in segments.
class SpotSegments {
 public:
  // Whether code of such places may lie in [first, last] of a space at a time.
  using MayLie = std::function<bool(std::uint32_t space, std::uint64_t first, std::uint64_t last,
                                    std::uint64_t time)>;
  SpotSegments(session::Session& session, const Index& index, MayLie may_lie)
      : session_(session), index_(index), may_lie_(std::move(may_lie)) {}
  bool may_run(std::size_t segment);

 private:
  struct Known {
    std::uint32_t naming = 0;
    bool asked = false;
    bool runs = false;
  };
  bool steady(std::uint32_t space, std::uint64_t from, std::uint64_t to);

  session::Session& session_;
  const Index& index_;
  MayLie may_lie_;
  std::vector<Known> known_;  // by granule
};

}  // namespace hodo::ask
