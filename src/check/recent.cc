#include "hodo/check/recent.h"

#include <algorithm>

namespace hodo::check {

template <class Batch>
std::vector<Branch> Recent::joined(const Batch& batch, const typename Batch::Position& at,
                                   std::span<const Branch> row) const {
  const auto end = row.last(std::min(row.size(), Finding::kBefore));
  const std::vector<Branch> begin = batch.last(Finding::kBefore - end.size(), at);
  const std::size_t kept = std::min(last_.size(), Finding::kBefore - end.size() - begin.size());
  std::vector<Branch> out(last_.end() - static_cast<std::ptrdiff_t>(kept), last_.end());
  out.insert(out.end(), begin.begin(), begin.end());
  out.insert(out.end(), end.begin(), end.end());
  return out;
}

std::vector<Branch> Recent::list(const flow::Repeats& batch, const flow::Repeats::Position& at,
                                 std::span<const Branch> row) const {
  return joined(batch, at, row);
}

std::vector<Branch> Recent::list(const flow::Passages& batch, const flow::Passages::Position& at,
                                 std::span<const Branch> row) const {
  return joined(batch, at, row);
}

void Recent::add(const flow::Repeats& batch) { last_ = list(batch, batch.end(), {}); }
void Recent::add(const flow::Passages& batch) { last_ = list(batch, batch.end(), {}); }

}  // namespace hodo::check
