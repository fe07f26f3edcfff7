#include "replaced_files.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "facts/ticks.h"

namespace hodo::session {
namespace {

using perfdata::Mapping;

// What was mapped last, by address.
class Layout {
 public:
  // Maps `m` over what is there; whatever it replaces has ended at a time in `times`.
  void map(const Mapping& m, std::vector<std::uint64_t>& times) {
    const std::uint64_t last = m.address + std::min(m.size - 1, ~m.address);
    auto at = parts_.upper_bound(m.address);
    if (at != parts_.begin() && std::prev(at)->second.last >= m.address) --at;
    while (at != parts_.end() && at->first <= last) {
      const std::uint64_t first = at->first;
      const Part old = at->second;
      at = parts_.erase(at);
      if (!same(*old.mapping, m)) times.push_back(std::min(old.mapping->until, m.from));
      if (first < m.address) parts_.emplace(first, Part{m.address - 1, old.mapping});
      if (old.last > last) parts_.emplace(last + 1, old);
    }
    parts_.emplace(m.address, Part{last, &m});
  }

 private:
  struct Part {
    std::uint64_t last;
    const Mapping* mapping;
  };
  static bool same(const Mapping& a, const Mapping& b) {
    return a.file == b.file && a.address - a.file_offset == b.address - b.file_offset;
  }

  std::map<std::uint64_t, Part> parts_;  // by first address; none overlap
};

}  // namespace

std::vector<std::uint64_t> replacement_times(const std::vector<Mapping>& mappings,
                                             const perfdata::TimeConversion& clock) {
  std::vector<std::uint64_t> times;
  if (!clock.valid) return times;
  Layout layout;
  for (const Mapping& m : mappings) {
    const bool of_file = m.file != perfdata::kNone && m.kept == perfdata::kNone;
    if (of_file && m.executable && m.size != 0) layout.map(m, times);
  }
  for (std::uint64_t& time : times) time = ticks(clock, time);
  std::ranges::sort(times);
  const auto rest = std::ranges::unique(times);
  times.erase(rest.begin(), rest.end());
  return times;
}

}  // namespace hodo::session
