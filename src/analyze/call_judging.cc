// The rules are those of CallStack, for what does not depend on the stack.
#include "call_judging.h"

namespace hodo::analyze {

using flow::CallOp;

class CallJudging::OfSpace final : public flow::CallJudge {
 public:
  OfSpace(CallJudging& all, std::uint32_t space) : all_(all), space_(space) {}
  std::uint64_t judged_by(std::uint64_t time) const override { return all_.naming(space_, time); }
  CallOp op(const Branch& branch) const override { return all_.op(space_, branch); }
  bool is_single(std::uint32_t callee) const override { return all_.is_single(callee); }

 private:
  CallJudging& all_;
  std::uint32_t space_;
};

CallJudging::CallJudging(const Functions& like) : functions_(like.with_same_names()) {}
CallJudging::~CallJudging() = default;

const flow::CallJudge* CallJudging::judge_of(std::uint32_t space) {
  const std::lock_guard lock(mutex_);
  auto& judge = judges_[space];
  if (judge == nullptr) judge = std::make_unique<OfSpace>(*this, space);
  return judge.get();
}

CallJudging::Callee CallJudging::callee(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  return callees_[number];
}

void CallJudging::tell_singles() {
  const std::lock_guard lock(mutex_);
  tells_singles_ = true;
}

void CallJudging::tell_no_more(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  if (number >= told_enough_.size()) told_enough_.resize(callees_.size());
  told_enough_[number] = true;
}

bool CallJudging::is_single(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  return number >= told_enough_.size() || !told_enough_[number];
}

std::uint64_t CallJudging::naming(std::uint32_t space, std::uint64_t time) {
  const std::lock_guard lock(mutex_);
  return functions_.naming(space, time) + std::uint64_t{1};
}

Located CallJudging::around(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  const symbol::Symbol* const symbol = functions_.symbol_at(space, address, time);
  if (symbol == nullptr) return functions_.at(space, address, time);
  const auto [it, fresh] = by_symbol_.try_emplace({space, symbol});
  if (fresh) it->second = functions_.at(space, address, time);
  return it->second;
}

CallOp CallJudging::op(std::uint32_t space, const Branch& branch) {
  if (branch.flags != 0) return {};
  const std::lock_guard lock(mutex_);
  switch (branch.kind) {
    case BranchKind::ret:
      return {.kind = CallOp::Kind::ret};
    case BranchKind::call:
    case BranchKind::icall:
      return called(space, branch);
    case BranchKind::cond:
    case BranchKind::jmp:
    case BranchKind::ijmp:
      return jumped(space, branch);
    default:
      return {};
  }
}

CallOp CallJudging::called(std::uint32_t space, const Branch& branch) {
  if (branch.to == 0) return {};
  // Where a call in code without symbols returns to is remembered (ReturnSites).
  const bool noted = !around(space, branch.from, branch.time).known();
  if (noted && !functions_.is_nameless(space, branch.from, branch.time)) return {};
  const Located& callee = functions_.called(space, branch.to, branch.time);
  // call 1f; 1: pop %ebx
  if (callee.known() && !callee.entry) return {};
  CallOp out = entering(CallOp::Kind::call, space, callee, {branch.to, true, branch.time});
  out.noted = noted;
  return out;
}

CallOp CallJudging::jumped(std::uint32_t space, const Branch& branch) {
  if (branch.to == 0) return {};
  const Located from = around(space, branch.from, branch.time);
  if (from.stub) {
    const Located& callee = functions_.called(space, branch.to, branch.time);
    const bool head = !callee.known() && callee.object == from.object;  // of the PLT
    if (head || callee.stub) return {};
    return entering(CallOp::Kind::enters, space, callee, {branch.to, true, branch.time});
  }
  const Located& target = functions_.at(space, branch.to, branch.time);
  if (!from.known() && !target.known()) return {.kind = jumped_without_name(space, branch)};
  if (!from.known() || !target.known()) return {};
  if (target.same_function(from)) return {.kind = CallOp::Kind::stays};
  if (from.resolver || target.resolver || !target.entry) return {};
  return entering(CallOp::Kind::tail, space, target, {branch.to, false, branch.time});
}

// The call on top is of the object that has the jump: whatever came there has told so.
CallOp::Kind CallJudging::jumped_without_name(std::uint32_t space, const Branch& branch) const {
  const bool stays = functions_.one_has(space, branch.from, branch);
  return stays ? CallOp::Kind::stays : CallOp::Kind::other;
}

CallOp CallJudging::entering(CallOp::Kind kind, std::uint32_t space, const Located& where,
                             Callee callee) {
  const Key key(space, callee.entry, callee.by_call, where.function);
  const auto number = static_cast<std::uint32_t>(callees_.size());
  if (number == CallOp::kMostCallees || where.sets_jump) return {};
  const auto [it, fresh] = numbers_.try_emplace(key, number);
  if (fresh) callees_.push_back(callee);
  const bool enough = it->second < told_enough_.size() && told_enough_[it->second];
  return {.kind = kind,
          .stub = where.stub,
          .single = tells_singles_ && !where.stub && !enough,
          .callee = it->second,
          .function = where.function};
}

}  // namespace hodo::analyze
