#include "hodo/ask/moved_lines.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>
#include <vector>

#include "hodo/ask/builds.h"
#include "hodo/ask/source_names.h"
#include "hodo/symbol/demangle.h"

namespace hodo::ask {
namespace {

constexpr std::uint32_t kEnd = ~std::uint32_t{0};

// A function that both builds have begins here, and another one behind it.
struct Stretch {
  std::string function;               // empty: none begins before
  std::uint32_t a = 0, b = 0;         // first lines
  std::optional<std::int64_t> shift;  // from a's lines to b's; none: they are not known
  std::uint32_t last_a = kEnd;        // no line of a's behind it has this shift
  std::uint32_t last_b = kEnd;
  bool changed = false;  // executed lines are left out
};

// The lines that a source has instructions in.
using Known = std::set<std::uint32_t>;

std::uint32_t last_before(const Known& known, std::uint32_t line) {
  const auto it = known.lower_bound(line);
  return it == known.begin() ? 0 : *std::prev(it);
}

// A source of both builds, by stretches from its begin on.
class Source {
 public:
  void add(const std::string& function, std::uint32_t a, std::uint32_t b, bool alike) {
    Stretch& stretch = starts_.try_emplace(a).first->second;
    if (stretch.shift) return;
    stretch = {.function = function, .a = a, .b = b};
    if (alike) stretch.shift = std::int64_t{b} - a;
  }
  // Whether any lines have moved.
  bool join(const Known& known_a, const Known& known_b);

  Stretch* of_a(std::uint32_t line) { return &std::prev(starts_.upper_bound(line))->second; }
  Stretch* of_b(std::uint32_t line) { return std::prev(by_b_.upper_bound(line))->second; }

  void add_changed(const std::string& source, std::set<std::string>& out) const {
    for (const auto& [line, stretch] : starts_) {
      if (!stretch.changed) continue;
      out.insert(stretch.function.empty() ? "the begin of " + source : stretch.function);
    }
  }

 private:
  bool are_alike() const;
  void follow_neighbours();

  std::map<std::uint32_t, Stretch> starts_{{0, {.shift = 0}}};  // by a
  std::map<std::uint32_t, Stretch*> by_b_;
};

bool Source::are_alike() const {
  const auto alike = std::ranges::count_if(
      starts_, [](const auto& start) { return start.second.shift.has_value(); });
  return static_cast<std::size_t>(alike) * 2 > starts_.size();
}

// A function that was compiled otherwise, between two that moved alike, moved as they did.
void Source::follow_neighbours() {
  std::vector<std::optional<std::int64_t>> behind;  // what the next one that is known moved, by it
  std::optional<std::int64_t> known;
  for (const auto& [line, stretch] : std::views::reverse(starts_)) {
    behind.push_back(known);
    if (stretch.shift) known = stretch.shift;
  }
  std::int64_t before = 0;
  for (auto& [line, stretch] : starts_) {
    if (!stretch.shift && behind.back() == before) stretch.shift = before;
    before = stretch.shift.value_or(before);
    behind.pop_back();
  }
}

bool Source::join(const Known& known_a, const Known& known_b) {
  const bool moved = std::ranges::any_of(
      starts_, [](const auto& start) { return start.second.shift.value_or(0) != 0; });
  if (!moved || !are_alike()) return false;
  for (auto& [line, stretch] : starts_) by_b_[stretch.b] = &stretch;
  follow_neighbours();
  // Which of the lines before the first function are new, nobody knows.
  const auto first = std::next(starts_.begin());
  if (first != starts_.end() && first->second.a != first->second.b) starts_[0].shift.reset();
  for (auto it = starts_.begin(); it != starts_.end(); ++it) {
    Stretch& stretch = it->second;
    const auto next = std::next(it);
    if (next == starts_.end() || next->second.shift == stretch.shift) continue;
    // What is inlined everywhere is of no function here: a new one may lie behind this one.
    const auto next_of_b = by_b_.upper_bound(stretch.b);
    stretch.last_a = last_before(known_a, next->first);
    stretch.last_b = last_before(known_b, next_of_b == by_b_.end() ? kEnd : next_of_b->first);
  }
  return true;
}

std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> begins(
    const analyze::CoveredModule& m, const std::vector<std::string_view>& names) {
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> out;
  for (const analyze::CoveredFunction& f : m.functions) {
    if (f.line == 0 || f.file >= names.size()) continue;
    const auto [it, fresh] = out.try_emplace({names[f.file], f.name}, f.line);
    if (!fresh) it->second = 0;  // which of them?
  }
  return out;
}

std::map<std::string_view, Known> known_lines(const analyze::CoveredModule& m,
                                              const std::vector<std::string_view>& names) {
  std::map<std::string_view, Known> out;
  for (const analyze::CoveredLine& line : m.lines) {
    if (line.file < names.size()) out[names[line.file]].insert(line.line);
  }
  return out;
}

using Sources = std::map<std::string, Source, std::less<>>;

Sources moved_sources(const analyze::CoveredModule& a, const analyze::CoveredModule& b,
                      const std::set<std::string>& alike) {
  const auto names_a = source_names(a.files);
  const auto names_b = source_names(b.files);
  const auto in_b = begins(b, names_b);
  Sources out;
  for (const auto& [what, line] : begins(a, names_a)) {
    const auto other = in_b.find(what);
    if (line == 0 || other == in_b.end() || other->second == 0) continue;
    const std::string name = base_name(symbol::demangle(std::string(what.second)));
    out[std::string(what.first)].add(name, line, other->second, alike.contains(name));
  }
  auto known_a = known_lines(a, names_a);
  auto known_b = known_lines(b, names_b);
  for (auto it = out.begin(); it != out.end();) {
    const bool moved = it->second.join(known_a[it->first], known_b[it->first]);
    it = moved ? std::next(it) : out.erase(it);
  }
  return out;
}

// Whether a's line is one of b's too, as far as anybody knows.
bool keeps_a(Source& source, std::uint32_t line, bool executed) {
  Stretch& stretch = *source.of_a(line);
  const bool known = stretch.shift && line <= stretch.last_a &&
                     line + *stretch.shift <= std::int64_t{stretch.last_b};
  if (!known && executed) stretch.changed = true;
  return known;
}

bool keeps_b(Source& source, std::uint32_t& line, bool executed) {
  Stretch& stretch = *source.of_b(line);
  const std::int64_t in_a = line - stretch.shift.value_or(0);
  const bool known =
      stretch.shift && line <= stretch.last_b && in_a > 0 && in_a <= std::int64_t{stretch.last_a};
  if (!known && executed) stretch.changed = true;
  if (known) line = static_cast<std::uint32_t>(in_a);
  return known;
}

// Leaves out of a module's lines and branches what `keeps` does not keep.
template <typename Keeps>
void sift(analyze::CoveredModule& m, Sources& sources, const Keeps& keeps) {
  std::vector<Source*> of(m.files.size());
  const auto names = source_names(m.files);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto it = sources.find(names[i]);
    if (it != sources.end()) of[i] = &it->second;
  }
  const auto drops = [&](std::uint32_t file, std::uint32_t& line, bool executed) {
    return line != 0 && file < of.size() && of[file] != nullptr &&
           !keeps(*of[file], line, executed);
  };
  std::erase_if(m.lines, [&](analyze::CoveredLine& line) {
    return drops(line.file, line.line, line.count != 0);
  });
  std::erase_if(m.branches, [&](analyze::CoveredBranch& branch) {
    return drops(branch.file, branch.line, (branch.taken | branch.not_taken) != 0);
  });
}

}  // namespace

std::set<std::string> align_lines(analyze::CoveredModule& a, analyze::CoveredModule& b,
                                  const std::set<std::string>& alike) {
  Sources sources = moved_sources(a, b, alike);
  sift(a, sources, keeps_a);
  sift(b, sources, keeps_b);
  std::set<std::string> out;
  for (const auto& [name, source] : sources) source.add_changed(name, out);
  return out;
}

}  // namespace hodo::ask
