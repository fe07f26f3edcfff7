#include "bound_calls.h"

#include <algorithm>

namespace hodo::ask {
namespace {

// The entry behind a stub's jump pushes a number and jumps.
constexpr std::uint64_t kEntryBytes = 16;

}  // namespace

std::span<const TakenBranch> BoundCalls::next(const TakenBranch& taken) {
  if (stage_ == Stage::loader) return in_loader(taken);
  if (stage_ != Stage::none && goes_on(taken)) {
    held_[count_++] = taken;
    return {};
  }
  // Not one of these.
  std::size_t given = 0;
  for (; given < count_; ++given) out_[given] = held_[given];
  count_ = 0;
  stage_ = Stage::none;
  if (goes_on(taken)) {
    held_[count_++] = taken;
  } else {
    out_[given++] = taken;
  }
  return std::span(out_).first(given);
}

std::span<const TakenBranch> BoundCalls::rest() {
  const std::size_t given = stage_ == Stage::loader ? 1 : count_;
  std::ranges::copy(std::span(held_).first(given), out_.begin());
  count_ = 0;
  stage_ = Stage::none;
  return std::span(out_).first(given);
}

// Whether this is the next step of such a call; then `stage_` is.
bool BoundCalls::goes_on(const TakenBranch& taken) {
  const Branch& b = taken.branch;
  const bool last = stage_ == Stage::first;
  if (b.kind != (stage_ == Stage::stub ? BranchKind::jmp : BranchKind::ijmp)) return false;
  if (stage_ != Stage::none && b.from - held_[count_ - 1].branch.to >= kEntryBytes) return false;
  if (last ? !neutral_.in_loader(taken.space, b.to, b.time)
           : neutral_.file(taken.space, b.from, b.time) !=
                 neutral_.file(taken.space, b.to, b.time)) {
    return false;
  }
  stage_ = stage_ == Stage::none ? Stage::stub : last ? Stage::loader : Stage::first;
  if (last) depth_ = 0;
  return true;
}

std::span<const TakenBranch> BoundCalls::in_loader(const TakenBranch& taken) {
  const Branch& b = taken.branch;
  if (b.kind == BranchKind::call || b.kind == BranchKind::icall) ++depth_;
  if (b.kind == BranchKind::ret) --depth_;
  const bool found = b.kind == BranchKind::ijmp && depth_ == 0;
  if (!found && depth_ >= 0) return {};
  out_[0] = held_[0];
  out_[0].folded = static_cast<std::uint32_t>(taken.number - out_[0].number);
  if (found) out_[0].branch.to = b.to;
  out_[1] = taken;
  count_ = 0;
  stage_ = Stage::none;
  return std::span(out_).first(found ? 1 : 2);
}

}  // namespace hodo::ask
