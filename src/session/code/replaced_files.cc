#include "replaced_files.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

#include "facts/ticks.h"
#include "files.h"

namespace hodo::session {
namespace {

using perfdata::Mapping;

void to_ticks(std::vector<std::uint64_t>& times, const perfdata::TimeConversion& clock) {
  for (std::uint64_t& time : times) time = ticks(clock, time);
  std::ranges::sort(times);
  const auto rest = std::ranges::unique(times);
  times.erase(rest.begin(), rest.end());
}

// A value for each address of ranges that do not overlap.
template <class Value>
class ByAddress {
 public:
  // Of [first, last], where visit(value) sees what was there.
  template <class Visit>
  void set(std::uint64_t first, std::uint64_t last, const Value& value, Visit visit) {
    auto at = before(first);
    while (at != ranges_.end() && at->first <= last) {
      const auto [begin, old] = *at;
      at = ranges_.erase(at);
      visit(old.value);
      if (begin < first) ranges_.emplace(begin, Range{first - 1, old.value});
      if (old.last > last) ranges_.emplace(last + 1, old);
    }
    ranges_.emplace(first, Range{last, value});
  }
  // visit(first, last, value) for all of [first, last] in order; a null value where there is none.
  template <class Visit>
  void each(std::uint64_t first, std::uint64_t last, Visit visit) const {
    for (auto at = before(first); at != ranges_.end() && at->first <= last; ++at) {
      if (first < at->first) visit(first, at->first - 1, nullptr);
      const std::uint64_t end = std::min(at->second.last, last);
      visit(std::max(first, at->first), end, &at->second.value);
      if (end == last) return;
      first = end + 1;
    }
    visit(first, last, nullptr);
  }

 private:
  struct Range {
    std::uint64_t last;
    Value value;
  };
  using Ranges = std::map<std::uint64_t, Range>;  // by first address

  // The first that ends at the address or behind it.
  Ranges::const_iterator before(std::uint64_t address) const {
    const auto at = ranges_.upper_bound(address);
    return at != ranges_.begin() && std::prev(at)->second.last >= address ? std::prev(at) : at;
  }

  Ranges ranges_;
};

// What was mapped last, by address.
class Layout {
 public:
  explicit Layout(const std::vector<perfdata::File>& files) : files_(files) {}

  void map(const Mapping& m) {
    const std::uint64_t last = m.address + std::min(m.size - 1, ~m.address);
    const Called called = called_as(m);
    if (m.kept == perfdata::kNone) {
      mapped_.set(m.address, last, {m.executable, called}, [](const Mapped&) {});
      if (m.executable) call(m.address, last, called, m);
      return;
    }
    // As Spaces::called_by().
    if (m.file != perfdata::kNone && names_a_file(files_[m.file].path, m.shared)) {
      return call(m.address, last, called, m);
    }
    mapped_.each(m.address, last, [&](std::uint64_t begin, std::uint64_t end, const Mapped* under) {
      if (under == nullptr) return call(begin, end, unknown(), m);
      call(begin, end, under->executable ? under->called : called, m);
    });
  }

  Replacements take() {
    code_.each(0, ~std::uint64_t{0}, [&](std::uint64_t, std::uint64_t, const Code* code) {
      if (code != nullptr && code->until != perfdata::kForever) out_.names.push_back(code->until);
    });
    return std::move(out_);
  }

 private:
  struct Called {
    std::string_view area;  // of memory that is called the same anywhere in it
    std::uint32_t file = perfdata::kNone;
    std::uint64_t base = 0;  // where the file's first byte would be
    bool operator==(const Called&) const = default;
  };
  struct Mapped {
    bool executable;
    Called called;
  };
  struct Code {
    std::uint64_t until;
    Called called;
  };

  Called called_as(const Mapping& m) const {
    const bool nameless = m.file == perfdata::kNone;
    const std::string_view area = area_name(nameless ? std::string_view() : files_[m.file].path);
    return {area, m.file, m.address - m.file_offset};
  }

  // As what the process had from its parent there, which that knows.
  Called unknown() { return {{}, perfdata::kNone, ++unknown_}; }

  void call(std::uint64_t first, std::uint64_t last, const Called& called, const Mapping& m) {
    code_.set(first, last, {m.until, called},
              [&](const Code& old) { note(old.called, called, std::min(old.until, m.from)); });
  }

  void note(const Called& old, const Called& now, std::uint64_t time) {
    if (old == now) return;
    if (now.area.empty() || old.area != now.area) out_.names.push_back(time);
    const bool of_files = old.file != perfdata::kNone && now.file != perfdata::kNone;
    if (of_files) out_.files.push_back(time);
  }

  const std::vector<perfdata::File>& files_;
  ByAddress<Mapped> mapped_;  // but for code that was kept
  ByAddress<Code> code_;
  std::uint64_t unknown_ = 0;
  Replacements out_;
};

}  // namespace

Replacements replacements(const std::vector<Mapping>& mappings,
                          const std::vector<perfdata::File>& files,
                          const perfdata::TimeConversion& clock) {
  if (!clock.valid) return {};
  Layout layout(files);
  for (const Mapping& m : mappings) {
    if (m.size != 0) layout.map(m);
  }
  Replacements out = layout.take();
  to_ticks(out.files, clock);
  to_ticks(out.names, clock);
  return out;
}

}  // namespace hodo::session
