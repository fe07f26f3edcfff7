// What the branches of a book (flow::TransferBook) are to a stack of calls, looked up once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "call_spans.h"
#include "functions.h"
#include "hodo/flow/transfers.h"

namespace hodo::analyze {

struct CallRule {
  enum class Kind : std::uint8_t {
    jump,   // nothing, if it stays in the function on top
    ijump,  // likewise; from a stub it leads to `callee`
    call,   // of `callee`
    ret,
    other,  // to be looked at as any branch
  };
  std::uint64_t from = 0;
  std::uint64_t to = 0;  // of those that lead to many places the last one, of which `callee` is
  std::uint32_t insns = 0;
  std::uint32_t callee = 0;
  std::uint32_t asked = 0;  // CallRules' number at that time; 0: nobody has
  Kind kind = Kind::other;
  bool last = false;
  bool open = false;  // where it leads the transfer says
};
static_assert(sizeof(CallRule) == 32);

class CallRules {
 public:
  explicit CallRules(Functions& functions) : functions_(functions) {}

  // What is asked for next.
  void move_to(const flow::TransferBook& book, std::uint32_t space, std::uint64_t time) {
    const std::uint32_t naming = functions_.naming(space, time);
    if (here_ == nullptr || here_->number != book.number() || here_->space != space) {
      open(book, space);
    }
    time_ = time;
    if (naming_ != naming) forget(naming);
  }
  // A rule, and the callee of one whose turn comes earlier.
  void prefetch(std::uint32_t rule, std::uint32_t with_callee) const {
    const std::vector<CallRule>& rules = here_->rules;
    if (rule < rules.size()) __builtin_prefetch(&rules[rule]);
    if (with_callee >= rules.size()) return;
    const std::uint32_t callee = rules[with_callee].callee;
    if (callee < callees_.size()) __builtin_prefetch(&callees_[callee]);
  }
  CallRule& at(const flow::TransferBook& book, std::uint32_t at) {
    if (at >= here_->rules.size() || here_->rules[at].asked != asked_) look_up(book, at);
    return here_->rules[at];
  }
  const Located& callee(const CallRule& rule) const { return callees_[rule.callee]; }
  // Of one that leads here now.
  const Located& callee(CallRule& rule, std::uint64_t to) {
    if (rule.to != to) lead(rule, to);
    return callees_[rule.callee];
  }
  // Where a call of a span went, by the judge's number; valid until the next question.
  const Located& callee(std::uint32_t number, const CallSpans& spans) {
    if (number >= of_spans_.size() || !of_spans_[number]) look_up_callee(number, spans);
    return *of_spans_[number];
  }

 private:
  // Each thread that decodes has its book. Of those before, one may be gone on with.
  static constexpr std::size_t kMostBooks = 16;
  struct Book {
    std::uint32_t number = 0;
    std::uint32_t space = 0;
    std::vector<CallRule> rules;  // by place in the book
  };
  void open(const flow::TransferBook& book, std::uint32_t space);
  void forget(std::uint32_t naming);
  void lead(CallRule& rule, std::uint64_t to);
  void look_up(const flow::TransferBook& book, std::uint32_t at);
  void look_up_callee(std::uint32_t number, const CallSpans& spans);

  Functions& functions_;
  std::deque<Book> books_;
  Book* here_ = nullptr;
  std::uint64_t time_ = 0;
  std::uint32_t naming_ = 0;
  std::uint32_t asked_ = 1;
  std::vector<Located> callees_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // of callees, by address
  std::vector<std::optional<Located>> of_spans_;
};

}  // namespace hodo::analyze
