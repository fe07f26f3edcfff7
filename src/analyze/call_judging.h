// What branches do to open calls, whatever these are: for a decoder that follows calls itself
// (flow::CallJudge), in any of its threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "functions.h"
#include "hodo/flow/call_spans.h"

namespace hodo::analyze {

class CallJudging {
 public:
  // `like` asks the same names, and must outlive this.
  explicit CallJudging(const Functions& like);
  ~CallJudging();
  CallJudging(const CallJudging&) = delete;
  CallJudging& operator=(const CallJudging&) = delete;

  // Lives as long as this.
  const flow::CallJudge* judge_of(std::uint32_t space);

  // Where calls of this number go: to one function of one address space. If another is there later,
  // that has a number of its own.
  struct Callee {
    std::uint64_t entry = 0;
    bool by_call = false;     // as OpenCall's
    std::uint64_t ticks = 0;  // the function was there then
  };
  Callee callee(std::uint32_t number) const;

  // From now on calls that a decoder follows are told one by one, too; but not those of a callee of
  // which somebody has heard enough.
  void tell_singles();
  void tell_no_more(std::uint32_t number);

 private:
  class OfSpace;
  flow::CallOp op(std::uint32_t space, const Branch& branch);
  bool is_single(std::uint32_t number) const;
  flow::CallOp called(std::uint32_t space, const Branch& branch);
  flow::CallOp jumped(std::uint32_t space, const Branch& branch);
  flow::CallOp::Kind jumped_without_name(std::uint32_t space, const Branch& branch) const;
  flow::CallOp entering(flow::CallOp::Kind kind, std::uint32_t space, const Located& where,
                        Callee callee);
  std::uint64_t naming(std::uint32_t space, std::uint64_t time);
  // As Functions::at(), but for `entry`. Names are made once for each symbol: there are many more
  // places that call than functions.
  Located around(std::uint32_t space, std::uint64_t address, std::uint64_t time);

  mutable std::mutex mutex_;
  Functions functions_;
  std::map<std::uint32_t, std::unique_ptr<OfSpace>> judges_;
  std::map<std::pair<std::uint32_t, const symbol::Symbol*>, Located> by_symbol_;
  std::vector<Callee> callees_;
  bool tells_singles_ = false;
  std::vector<bool> told_enough_;  // by number
  using Key = std::tuple<std::uint32_t, std::uint64_t, bool, std::uint32_t>;
  std::map<Key, std::uint32_t> numbers_;  // by space, Callee and function
};

}  // namespace hodo::analyze
