#include "aligned.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>

#include "hodo/ask/moved_lines.h"
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
std::string some_of(const Names& names) {
  constexpr std::size_t kMost = 4;
  std::string out;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (count == kMost && names.size() > kMost + 1) {
      return out + fmt::format(" and {} more", names.size() - count);
    }
    if (count != 0) out += count + 1 == names.size() ? " and " : ", ";
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
  out.complete &= otherwise.empty() && changed.empty();
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
