#include <algorithm>

#include "output.h"

namespace hodo::flow {

std::uint64_t Repeats::first_time() const {
  const bool path = !list.empty() && list.front().begin == 0;
  return path ? list.front().time : walked.front().time;
}

std::uint64_t Repeats::last_time() const {
  const bool path = !list.empty() && list.back().begin == walked.size();
  return path ? list.back().time : walked.back().time;
}

void Repeats::append(const Repeat& repeat, std::vector<Branch>& out) const {
  const std::size_t first = out.size();
  for (const std::uint32_t number : numbers_of(repeat)) {
    out.push_back(edges[number]);
    out.back().time = repeat.time;
  }
  out[first].insns = saturate_insns(std::uint64_t{out[first].insns} + repeat.insns);
}

std::vector<Branch> Repeats::last(std::size_t most, const Position& before) const {
  Position at = before;
  std::size_t count = 0;
  while (count < most && (at.repeats != 0 || at.walked != 0)) {
    const std::size_t path_end = at.repeats == 0 ? 0 : list[at.repeats - 1].begin;
    if (at.walked != path_end) {
      const std::size_t taken = std::min(at.walked - path_end, most - count);
      at.walked -= taken;
      count += taken;
    } else {
      count += list[--at.repeats].count;
    }
  }
  std::vector<Branch> out;
  out.reserve(count);
  const auto walk_to = [&](std::size_t end) {
    const auto part = walked.subspan(at.walked, end - at.walked);
    out.insert(out.end(), part.begin(), part.end());
    at.walked = end;
  };
  for (; at.repeats != before.repeats; ++at.repeats) {
    walk_to(list[at.repeats].begin);
    append(list[at.repeats], out);
  }
  walk_to(before.walked);
  if (count > most) out.erase(out.begin(), out.end() - static_cast<std::ptrdiff_t>(most));
  return out;
}

}  // namespace hodo::flow
