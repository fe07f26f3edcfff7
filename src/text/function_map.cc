#include "function_map.h"

#include <algorithm>

namespace hodo::text {
namespace {

bool by_begin(const Function& a, const Function& b) {
  return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
}

void cut_overlaps(std::vector<Function>& functions) {
  std::ranges::sort(functions, by_begin);
  for (std::size_t i = 0; i + 1 < functions.size(); ++i) {
    functions[i].end = std::min(functions[i].end, functions[i + 1].begin);
  }
  std::erase_if(functions, [](const Function& f) { return f.begin >= f.end; });
}

}  // namespace

FunctionMap::FunctionMap(std::vector<Function> first, std::vector<Function> second) {
  cut_overlaps(first);
  functions_ = first;
  for (const Function& f : second) {
    const auto after = std::ranges::upper_bound(first, f.begin, {}, &Function::begin);
    const bool covered = after != first.begin() && std::prev(after)->end > f.begin;
    if (!covered) functions_.push_back(f);
  }
  cut_overlaps(functions_);
}

std::optional<FunctionMap> FunctionMap::restore(std::vector<Function> functions,
                                                std::vector<Joined> joined) {
  std::uint64_t end = 0;
  for (const Function& f : functions) {
    if (f.begin < end || f.begin >= f.end) return std::nullopt;
    end = f.end;
  }
  const bool good = std::ranges::is_sorted(joined) && std::ranges::all_of(joined, [&](auto pair) {
                      return pair.first < pair.second && pair.second < functions.size();
                    });
  if (!good) return std::nullopt;
  FunctionMap map;
  map.functions_ = std::move(functions);
  map.joined_ = std::move(joined);
  return map;
}

std::optional<std::uint32_t> FunctionMap::index(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(functions_, address, {}, &Function::begin);
  if (after == functions_.begin() || std::prev(after)->end <= address) return std::nullopt;
  return static_cast<std::uint32_t>(after - functions_.begin() - 1);
}

const Function* FunctionMap::at(std::uint64_t address) const {
  const auto found = index(address);
  return found ? &functions_[*found] : nullptr;
}

void FunctionMap::join(const std::vector<Sweep::Reference>& jumps) {
  for (const Sweep::Reference& jump : jumps) {
    const auto from = index(jump.from);
    const auto to = index(jump.to);
    if (!from || !to || *from == *to || functions_[*to].begin == jump.to) continue;
    joined_.emplace_back(std::min(*from, *to), std::max(*from, *to));
  }
  std::ranges::sort(joined_);
  const auto repeated = std::ranges::unique(joined_);
  joined_.erase(repeated.begin(), repeated.end());
}

bool FunctionMap::same(std::uint64_t a, std::uint64_t b) const {
  const auto first = index(a);
  const auto second = index(b);
  if (!first || !second) return false;
  if (*first == *second) return true;
  return std::ranges::binary_search(
      joined_, std::pair(std::min(*first, *second), std::max(*first, *second)));
}

std::vector<Function> FunctionMap::parts(std::uint32_t index) const {
  std::vector<Function> out = {functions_[index]};
  for (const auto& [first, second] : joined_) {
    if (first == index) out.push_back(functions_[second]);
    if (second == index) out.push_back(functions_[first]);
  }
  std::ranges::sort(out, by_begin);
  return out;
}

}  // namespace hodo::text
