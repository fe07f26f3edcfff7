#include "aligned.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>

#include "hodo/ask/moved_lines.h"
#include "hodo/ask/source_names.h"
#include "hodo/base/last_component.h"
#include "hodo/symbol/demangle.h"

namespace hodo::serve {
namespace {

using Names = std::set<std::string>;

analyze::CoveredModule* module_named(analyze::Coverage& coverage, const std::string& file) {
  const auto it = std::ranges::find_if(coverage.modules, [&](const analyze::CoveredModule& m) {
    return m.file && last_component(m.path) == file;
  });
  return it == coverage.modules.end() ? nullptr : &*it;
}

// From here on B's files are called as those of A that they are compared with.
void rename(Ran& b, std::string_view first, Alignment& out) {
  b.builds.rename(out.renamed);
  for (analyze::CoveredModule& module : b.coverage.modules) {
    const std::string_view name = last_component(module.path);
    const auto other = module.file ? out.renamed.find(std::string(name)) : out.renamed.end();
    if (other == out.renamed.end()) continue;
    out.notes.push_back(
        fmt::format("{} is compared with {} of {}, and called so", name, other->second, first));
    module.path.replace(module.path.size() - name.size(), name.size(), other->second);
  }
}

void add_compiled_otherwise(const analyze::CoveredModule& m, const Names& alike, Names& out) {
  for (const analyze::CoveredFunction& f : m.functions) {
    if (f.blocks_hit == 0) continue;
    std::string name = ask::base_name(symbol::demangle(f.name));
    if (!alike.contains(name)) out.insert(std::move(name));
  }
}

// "f, g and 3 more"
template <typename Range>
std::string some_of(const Range& names) {
  constexpr std::size_t kMost = 4;
  const auto size = static_cast<std::size_t>(std::ranges::distance(names));
  std::string out;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (count == kMost && size > kMost + 1) {
      return out + fmt::format(" and {} more", size - count);
    }
    if (count != 0) out += count + 1 == size ? " and " : ", ";
    out += name;
    ++count;
  }
  return out;
}

std::string about_build(const std::string& file, const ask::Rebuilt& in_common,
                        const Names& otherwise) {
  std::string out =
      fmt::format("{} is another build: {} functions are as before", file, in_common.alike.size());
  if (otherwise.empty()) return out;
  return out + fmt::format(
                   "; of those that were compiled otherwise only what they call is compared, "
                   "and which lines they executed: {}",
                   some_of(otherwise));
}

// Where a file's functions begin in its sources; whether all that begin there are as before.
using Beginnings = std::map<std::pair<std::string_view, std::uint32_t>, bool>;

Beginnings beginnings(const analyze::CoveredModule& m, const Names& alike) {
  Beginnings out;
  const auto sources = ask::source_names(m.files);
  for (const analyze::CoveredFunction& f : m.functions) {
    if (f.line == 0 || f.file >= sources.size()) continue;
    const bool as_before = alike.contains(ask::base_name(symbol::demangle(f.name)));
    const auto [it, fresh] = out.try_emplace({sources[f.file], f.line}, as_before);
    it->second &= as_before;
  }
  return out;
}

// Whether what begins before a line of a source is as before; nullopt: nothing is known to.
std::optional<bool> is_as_before(const Beginnings& functions, std::string_view source,
                                 std::uint32_t line) {
  const auto next = functions.upper_bound({source, line});
  if (next == functions.begin()) return std::nullopt;
  const auto& [begins, as_before] = *std::prev(next);
  return begins.first == source ? std::optional(as_before) : std::nullopt;
}

// Of functions that were compiled otherwise a line tells whether it was executed: how many
// instructions are told to be of it, and how often each is executed, is the compiler's.
void count_lines_once(analyze::CoveredModule& m, const Beginnings& functions) {
  const auto sources = ask::source_names(m.files);
  for (analyze::CoveredLine& line : m.lines) {
    if (line.file >= sources.size()) continue;
    if (is_as_before(functions, sources[line.file], line.line).value_or(true)) continue;
    line.count = std::min<std::uint64_t>(line.count, 1);
  }
}

using Lines = std::set<std::pair<std::string, std::uint32_t>>;  // by source

Lines lines_with_code(const analyze::CoveredModule& m) {
  const auto sources = ask::source_names(m.files);
  Lines out;
  for (const analyze::CoveredLine& line : m.lines) {
    if (line.file >= sources.size()) continue;
    out.emplace(sources[line.file], line.line);
  }
  return out;
}

// Which lines have code is the compiler's, too. Those that ran go to `out`.
void leave_out_lines_of_one(analyze::CoveredModule& m, const Lines& other,
                            const Beginnings& functions, Lines& out) {
  const auto sources = ask::source_names(m.files);
  std::erase_if(m.lines, [&](const analyze::CoveredLine& line) {
    if (line.file >= sources.size()) return false;
    const std::string source(sources[line.file]);
    if (other.contains({source, line.line})) return false;
    if (is_as_before(functions, source, line.line).value_or(false)) return false;
    if (line.count != 0) out.emplace(source, line.line);
    return true;
  });
}

// And so is which way they branch.
void leave_out_branches(analyze::CoveredModule& m, const Names& alike) {
  std::map<std::uint64_t, std::uint64_t> otherwise;  // from where to where
  for (const analyze::CoveredFunction& f : m.functions) {
    if (alike.contains(ask::base_name(symbol::demangle(f.name)))) continue;
    otherwise.emplace(f.address, f.address + f.size);
  }
  std::erase_if(m.branches, [&](const analyze::CoveredBranch& branch) {
    const auto next = otherwise.upper_bound(branch.address);
    return next != otherwise.begin() && branch.address < std::prev(next)->second;
  });
}

void align_file(const std::string& file, const ask::Rebuilt& in_common, Ran& a, Ran& b,
                std::string_view first, Alignment& out) {
  analyze::CoveredModule* const in_a = module_named(a.coverage, file);
  analyze::CoveredModule* const in_b = module_named(b.coverage, file);
  if (in_a == nullptr || in_b == nullptr) return;
  Names otherwise;
  for (const analyze::CoveredModule* m : {in_a, in_b}) {
    add_compiled_otherwise(*m, in_common.alike, otherwise);
  }
  out.notes.push_back(about_build(file, in_common, otherwise));
  const Names changed = ask::align_lines(*in_a, *in_b, in_common.alike);
  const Beginnings functions = beginnings(*in_a, in_common.alike);
  const Lines lines_a = lines_with_code(*in_a);
  const Lines lines_b = lines_with_code(*in_b);
  Lines of_one;
  if (!lines_a.empty() && !lines_b.empty()) {
    leave_out_lines_of_one(*in_a, lines_b, functions, of_one);
    leave_out_lines_of_one(*in_b, lines_a, functions, of_one);
  }
  if (!of_one.empty()) {
    out.notes.push_back(
        fmt::format("{}: lines that have code in one of the builds only are not compared: {}", file,
                    some_of(of_one | std::views::transform([](const auto& line) {
                              return fmt::format("{}:{}", line.first, line.second);
                            }))));
  }
  for (analyze::CoveredModule* m : {in_a, in_b}) {
    count_lines_once(*m, functions);
    leave_out_branches(*m, in_common.alike);
  }
  if (!in_common.inlined.empty()) {
    out.inlined.emplace(file, in_common.inlined);
    out.notes.push_back(
        fmt::format("{}: one of the builds has calls of these inlined, how often they ran is not "
                    "compared: {}",
                    file, some_of(in_common.inlined)));
  }
  out.complete &=
      otherwise.empty() && changed.empty() && of_one.empty() && in_common.inlined.empty();
  if (changed.empty()) return;
  out.notes.push_back(fmt::format(
      "{}: lines are called as in {}; where the source has changed they are not compared: {}", file,
      first, some_of(changed)));
}

}  // namespace

Alignment align(Ran& a, Ran& b, std::string_view first) {
  Alignment out{.renamed = ask::renamed(a.builds, b.builds)};
  rename(b, first, out);
  out.rebuilt = ask::rebuilt({a.session, a.builds, a.coverage}, {b.session, b.builds, b.coverage});
  for (const auto& [file, in_common] : out.rebuilt) {
    align_file(file, in_common, a, b, first, out);
  }
  return out;
}

}  // namespace hodo::serve
