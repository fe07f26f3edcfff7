// Rows of calls that questions were answered with, for the questions behind them.
//
// To list all calls of a function that runs all the time nearly everything has to be decoded, if
// they were too many to be kept with the index (made_rows.h). What is decoded then has the calls of
// other functions, too: those that are not too many are kept together with those that were asked
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "call_rows.h"
#include "hodo/analyze/open_calls.h"
#include "hodo/ask/call_store.h"
#include "hodo/ask/index.h"
#include "hodo/ask/occurrences.h"

namespace hodo::ask {

// Takes the rows of a decoding of some of an index's segments.
class RowKeeper {
 public:
  // `decoded`: of all segments, in order. Functions that are called in others, too, are left out,
  // and those with most calls where there is no room for all; but first come those that `name`
  // means. `following` and `store` must outlive this.
  RowKeeper(const Index& index, analyze::Following& following, const analyze::FunctionName& name,
            std::span<const std::size_t> decoded, CallStore& store);

  // What was asked for will be found the next time.
  bool is_worth_it() const { return keeps_meant_; }
  bool keeps(std::uint32_t function) const {
    return function < known_.size() && known_[function].kept;
  }
  // A call of one that is kept begins, which add() is told of when it ends.
  void begin(std::uint32_t function) { ++known_[function].begun; }
  void add(const CallRow& row, std::uint32_t visit) { rows_->add(row, visit); }
  // Once all is decoded and nothing was lost.
  void store();

 private:
  struct Known {
    std::uint64_t calls = 0;
    bool whole = true;  // all of them are in what is decoded
    bool kept = false;
    std::size_t begun = 0;
  };
  void count(const Index& index, std::span<const std::size_t> decoded);
  void choose(const analyze::FunctionName& name);
  void choose_file();
  std::vector<KeptFunction> functions() const;

  analyze::Following& following_;
  CallStore& store_;
  std::vector<Known> known_;            // by function
  std::optional<CallRowsWriter> rows_;  // if it is worth it
  unsigned file_ = 0;
  std::uint64_t number_ = 0;
  bool keeps_meant_ = false;
};

// Queues in the order in which their paths are walked along.
class Visits {
 public:
  std::uint32_t of(std::uint32_t queue) {
    if (queue_ != queue || order_.empty()) {
      queue_ = queue;
      visit_ = order_.try_emplace(queue, static_cast<std::uint32_t>(order_.size())).first->second;
    }
    return visit_;
  }

 private:
  std::map<std::uint32_t, std::uint32_t> order_;
  std::uint32_t queue_ = 0;
  std::uint32_t visit_ = 0;
};

// All calls of the functions that a name means, in the order of their ends, if they are kept.
struct KeptCalls {
  std::vector<analyze::Function> functions;
  std::vector<std::uint32_t> meant;  // that were called
  std::vector<CallRow> rows;         // with their numbers
};
std::optional<KeptCalls> kept_calls(CallStore& store, const analyze::FunctionName& name);

}  // namespace hodo::ask
