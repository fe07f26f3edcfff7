#include "hodo/ask/spectrum.h"

#include <algorithm>
#include <cmath>

#include "hodo/ask/builds.h"
#include "hodo/ask/source_names.h"
#include "hodo/base/last_component.h"
#include "hodo/symbol/demangle.h"
#include "neutral.h"

namespace hodo::ask {
namespace {

// "f" of "f.constprop.0.isra.0": one build of a file has a copy of a function for how it is called
// there, another one has the function.
std::string_view without_copies(std::string_view name) {
  for (const std::string_view made : {".constprop.", ".isra.", ".lto_priv."}) {
    if (const std::size_t at = name.find(made); at != 0) name = name.substr(0, at);
  }
  return name;
}

// Puts what a module executed into a spectrum.
class Adding {
 public:
  Adding(const analyze::CoveredModule& m, Spectrum& out)
      : m_(m), module_(last_component(m.path)), files_(source_names(m.files)), out_(out) {}

  void functions();
  void lines();
  void branches();

 private:
  bool is_known(std::uint32_t file) const {
    return file < files_.size() &&
           !depends_on_addresses(module_, last_component(std::string_view(m_.files[file])));
  }

  const analyze::CoveredModule& m_;
  std::string module_;
  std::vector<std::string_view> files_;
  Spectrum& out_;
};

// Sources may have functions of one name each, if they are static.
void Adding::functions() {
  std::map<std::string_view, std::uint32_t> named;
  std::map<std::string_view, std::uint32_t> written;  // in the source
  for (const analyze::CoveredFunction& f : m_.functions) {
    ++named[f.name];
    ++written[without_copies(f.name)];
  }
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> alike;
  for (const analyze::CoveredFunction& f : m_.functions) {
    const bool shared = named[f.name] > 1;
    const std::string_view source = shared && f.file < files_.size() ? files_[f.file] : "";
    const std::uint32_t nth = shared ? alike[{f.name, source}]++ : 0;
    // By what ran of it: a function may be entered in its middle, too.
    const std::uint64_t count = std::max<std::uint64_t>(f.entered, f.blocks_hit != 0 ? 1 : 0);
    if (count == 0 || depends_on_addresses(module_, f.name)) continue;
    const std::string_view whole = without_copies(f.name);
    out_[{.kind = Executed::Kind::function,
          .module = module_,
          .name = std::string(written[whole] == 1 ? whole : f.name),
          .source = std::string(source),
          .nth = nth}] += count;
  }
}

void Adding::lines() {
  for (const analyze::CoveredLine& line : m_.lines) {
    if (line.count == 0 || !is_known(line.file)) continue;
    out_[{.kind = Executed::Kind::line,
          .module = module_,
          .name = std::string(files_[line.file]),
          .line = line.line}] += line.count;
  }
}

void Adding::branches() {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> in_line;
  for (const analyze::CoveredBranch& branch : m_.branches) {
    if (branch.line == 0 || !is_known(branch.file)) continue;
    Executed what{.module = module_,
                  .name = std::string(files_[branch.file]),
                  .line = branch.line,
                  .nth = in_line[{branch.file, branch.line}]++};
    what.kind = Executed::Kind::taken;
    if (branch.taken != 0) out_[what] += branch.taken;
    what.kind = Executed::Kind::not_taken;
    if (branch.not_taken != 0) out_[what] += branch.not_taken;
  }
}

}  // namespace

std::string_view name(Executed::Kind kind) {
  switch (kind) {
    case Executed::Kind::function:
      return "function";
    case Executed::Kind::line:
      return "line";
    case Executed::Kind::taken:
      return "taken";
    case Executed::Kind::not_taken:
      break;
  }
  return "not-taken";
}

Spectrum spectrum_of(const analyze::Coverage& coverage) {
  Spectrum out;
  for (const analyze::CoveredModule& m : coverage.modules) {
    Adding adding(m, out);
    adding.functions();
    adding.lines();
    adding.branches();
  }
  return out;
}

std::set<std::string> without_lines(const analyze::Coverage& coverage) {
  std::set<std::string> out;
  for (const analyze::CoveredModule& m : coverage.modules) {
    if (m.file && m.lines.empty()) out.emplace(last_component(m.path));
  }
  return out;
}

std::set<std::string> leave_out_lines(Spectrum& spectrum, const std::set<std::string>& of_files) {
  std::set<std::string> out;
  std::erase_if(spectrum, [&](const auto& counted) {
    const Executed& what = counted.first;
    if (what.kind == Executed::Kind::function || !of_files.contains(what.module)) return false;
    out.insert(what.module);
    return true;
  });
  return out;
}

void leave_out_functions(Spectrum& spectrum, const FunctionsOfFiles& functions) {
  std::erase_if(spectrum, [&](const auto& counted) {
    const Executed& what = counted.first;
    if (what.kind != Executed::Kind::function) return false;
    const auto of_file = functions.find(what.module);
    return of_file != functions.end() &&
           of_file->second.contains(base_name(symbol::demangle(what.name)));
  });
}

namespace {

// How far a file is from what a programmer asks about: the program's own, libraries, the C library.
int distance(const Executed& what) {
  if (is_c_library(what.module)) return 2;
  return what.module.find(".so") != std::string::npos ? 1 : 0;
}

}  // namespace

std::vector<Difference> differences(const Spectrum& a, const Spectrum& b) {
  std::vector<Difference> out;
  for (const auto& [what, count] : a) {
    const auto other = b.find(what);
    const std::uint64_t in_b = other == b.end() ? 0 : other->second;
    if (count != in_b) out.push_back({what, count, in_b});
  }
  for (const auto& [what, count] : b) {
    if (!a.contains(what)) out.push_back({what, 0, count});
  }
  const auto apart = [](const Difference& d) { return d.a > d.b ? d.a - d.b : d.b - d.a; };
  std::ranges::stable_sort(out, [&](const Difference& x, const Difference& y) {
    const bool one_x = x.a == 0 || x.b == 0;
    const bool one_y = y.a == 0 || y.b == 0;
    if (one_x != one_y) return one_x;
    const int far_x = distance(x.what);
    const int far_y = distance(y.what);
    return far_x != far_y ? far_x < far_y : apart(x) > apart(y);
  });
  return out;
}

std::vector<Suspect> suspects(std::span<const Spectrum> failing,
                              std::span<const Spectrum> passing) {
  std::map<Executed, Suspect> all;
  for (const Spectrum& run : failing) {
    for (const auto& [what, count] : run) ++all[what].failing;
  }
  for (const Spectrum& run : passing) {
    for (const auto& [what, count] : run) {
      if (auto it = all.find(what); it != all.end()) ++it->second.passing;
    }
  }
  std::vector<Suspect> out;
  for (auto& [what, suspect] : all) {
    const bool everywhere = suspect.failing == failing.size() && suspect.passing == passing.size();
    if (everywhere && !passing.empty()) continue;
    suspect.what = what;
    const double ran = suspect.failing + suspect.passing;
    suspect.score = suspect.failing / std::sqrt(static_cast<double>(failing.size()) * ran);
    out.push_back(suspect);
  }
  std::ranges::stable_sort(out, [](const Suspect& x, const Suspect& y) {
    return x.score != y.score ? x.score > y.score : distance(x.what) < distance(y.what);
  });
  return out;
}

}  // namespace hodo::ask
