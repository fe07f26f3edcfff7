#include "hodo/ask/builds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "compiled.h"
#include "hodo/base/last_component.h"
#include "hodo/base/page.h"
#include "hodo/image/elf.h"
#include "hodo/isa/insn.h"
#include "hodo/symbol/demangle.h"

namespace hodo::ask {
namespace {

constexpr std::uint64_t kLargestFunction = std::uint64_t{1} << 20;

// What two functions have in common if the same offsets in them mean the same: the lengths of their
// instructions, and where their branches lead within them. Constants and addresses may differ.
// nullopt: the code cannot be read.
std::optional<std::uint64_t> layout_of(session::Session& session, const Builds::Build& build,
                                       std::uint64_t address, std::uint64_t size) {
  if (size == 0 || size > kLargestFunction) return std::nullopt;
  std::vector<std::uint8_t> code(size);
  if (session.read_code(build.space, address, build.time, code) != size) return std::nullopt;
  const isa::Mode mode = session.mode(build.space, build.time);
  std::uint64_t out = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t value) { out = (out ^ value) * 0x100000001b3; };
  for (std::uint64_t at = 0; at < size;) {
    const auto insn = isa::decode(std::span(code).subspan(at), address + at, mode);
    if (!insn) return std::nullopt;
    add(insn->length);
    add(static_cast<std::uint64_t>(insn->cls));
    if (isa::has_direct_target(insn->cls) && insn->target - address < size) {
      add(insn->target - address);
    }
    at += insn->length;
  }
  return out;
}

const analyze::CoveredModule* module_of(const analyze::Coverage& coverage,
                                        const std::string& name) {
  for (const analyze::CoveredModule& m : coverage.modules) {
    if (m.file && last_component(m.path) == name) return &m;
  }
  return nullptr;
}

// Without a build-id: where the file's segments and symbols lie.
std::string id_of(const symbol::SymbolTable& table) {
  if (!table.elf().build_id.empty()) return image::to_hex(table.elf().build_id);
  std::uint64_t h = 0xcbf29ce484222325;
  const auto add = [&](std::uint64_t value) { h = (h ^ value) * 0x100000001b3; };
  for (const image::Segment& s : table.elf().segments) {
    for (const std::uint64_t value : {s.vaddr, s.offset, s.file_size}) add(value);
  }
  for (const symbol::Symbol& s : table.symbols()) {
    add(s.start);
    add(s.size);
    for (const char c : s.name) add(static_cast<std::uint8_t>(c));
  }
  return fmt::format("layout {:016x}", h);
}

// The functions of a file by name, where the name means one.
std::map<std::string, const analyze::CoveredFunction*> named(const analyze::CoveredModule& m) {
  std::map<std::string, const analyze::CoveredFunction*> out;
  for (const analyze::CoveredFunction& f : m.functions) {
    auto [it, fresh] = out.try_emplace(f.name, &f);
    if (!fresh) it->second = nullptr;
  }
  return out;
}

std::string shown_name(const analyze::CoveredFunction& f) {
  return base_name(symbol::demangle(f.name));
}

// The functions of a file that were not executed themselves, but lines of theirs: where they were
// inlined.
std::set<std::string> inlined(const analyze::CoveredModule& m) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> executed;
  for (const analyze::CoveredLine& line : m.lines) {
    if (line.count != 0) executed.emplace(line.file, line.line);
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, const analyze::CoveredFunction*> by_line;
  for (const analyze::CoveredFunction& f : m.functions) {
    if (f.line != 0) by_line[{f.file, f.line}] = &f;
  }
  std::set<std::string> out;
  std::set<std::string> ran;  // of those a part, as "f" of "f.cold"
  for (auto it = by_line.begin(); it != by_line.end(); ++it) {
    if (it->second->blocks_hit != 0) {
      ran.insert(shown_name(*it->second));
      continue;
    }
    const auto next = std::next(it);
    const auto line = executed.lower_bound(it->first);
    if (line == executed.end() || line->first != it->first.first) continue;
    if (next == by_line.end() || *line < next->first) out.insert(shown_name(*it->second));
  }
  for (const std::string& name : ran) out.erase(name);
  return out;
}

// Executions of the functions that have a name.
std::map<std::string, std::uint64_t> entered(const analyze::CoveredModule& m) {
  std::map<std::string, std::uint64_t> out;
  for (const analyze::CoveredFunction& f : m.functions) out[shown_name(f)] += f.entered;
  return out;
}

// A run's build of a file.
struct Built {
  const analyze::CoveredModule& module;
  Compiled compiled;
};

// What only `here` has; and what was called more often than `there`, where it may have been inlined
// in some places or in all: it is laid out otherwise, or was executed as a part of others alone.
void add_single(const Built& here, const Built& there, Rebuilt& out) {
  const auto entered_there = entered(there.module);
  const std::set<std::string> inlined_there = inlined(there.module);
  for (const auto& [name, count] : entered(here.module)) {
    const auto other = entered_there.find(name);
    const bool may = !out.alike.contains(name) || inlined_there.contains(name);
    const bool more = other == entered_there.end() || (may && count > other->second);
    if (!more || !may_be_inlined(name, here.compiled, there.compiled)) continue;
    out.single.insert(name);
    if (is_inlined(name, there.compiled)) out.inlined.insert(name);
  }
}

Compiled compiled(const RanBuilds& run, const analyze::CoveredModule& m, const std::string& file) {
  if (m.functions.empty()) return {};
  const Builds::Build& build = run.builds.found().at(file);
  const std::uint64_t inside = m.base + (m.functions.front().address - m.lowest);
  return compiled_of(run.session.names().object(build.space, inside, build.time));
}

Rebuilt in_common(const RanBuilds& a, const RanBuilds& b, const std::string& file) {
  Rebuilt out;
  const analyze::CoveredModule* const in_a = module_of(a.coverage, file);
  const analyze::CoveredModule* const in_b = module_of(b.coverage, file);
  if (in_a == nullptr || in_b == nullptr) return out;
  const auto functions_b = named(*in_b);
  std::set<std::string> other;  // a part of the function is
  for (const auto& [name, f] : named(*in_a)) {
    const auto g = functions_b.find(name);
    const bool both = f != nullptr && g != functions_b.end() && g->second != nullptr;
    const auto layout = [&](const RanBuilds& run, const analyze::CoveredModule& m,
                            const analyze::CoveredFunction& function) {
      return layout_of(run.session, run.builds.found().at(file),
                       m.base + (function.address - m.lowest), function.size);
    };
    const auto of_a = both ? layout(a, *in_a, *f) : std::nullopt;
    const bool same = of_a && of_a == layout(b, *in_b, *g->second);
    (same ? out.alike : other).insert(base_name(symbol::demangle(name)));
  }
  for (const std::string& name : other) out.alike.erase(name);
  const Built built_a{*in_a, compiled(a, *in_a, file)};
  const Built built_b{*in_b, compiled(b, *in_b, file)};
  add_single(built_a, built_b, out);
  add_single(built_b, built_a, out);
  // What they do themselves is done elsewhere in the other build.
  for (const std::string& name : out.single) out.alike.erase(name);
  return out;
}

// The loader has no interpreter either, and is a library.
bool is_program(const symbol::SymbolTable& table) {
  return table.elf().type == image::ElfType::exec || !table.elf().interpreter.empty();
}

// "libz.so.1" of "libz.so.1.2.13"; empty: no library with a version.
std::string library_of(const std::string& name) {
  constexpr std::string_view kLibrary = ".so.";
  const auto at = name.find(kLibrary);
  return at == name.npos ? "" : name.substr(0, name.find('.', at + kLibrary.size()));
}

// Which of a run's files are of one thing and in no other run; by what they are of.
std::map<std::string, std::vector<std::string>> only_in(const Builds& here, const Builds& there) {
  std::map<std::string, std::vector<std::string>> out;
  for (const auto& [name, build] : here.found()) {
    if (there.found().contains(name)) continue;
    const std::string of = build.program ? "program" : library_of(name);
    if (!of.empty()) out[of].push_back(name);
  }
  return out;
}

}  // namespace

void Builds::rename(const RenamedFiles& names) {
  for (const auto& [name, other] : names) {
    auto node = found_.extract(name);
    if (node.empty()) continue;
    node.key() = other;
    found_.insert(std::move(node));
  }
}

RenamedFiles renamed(const Builds& a, const Builds& b) {
  RenamedFiles out;
  const auto in_a = only_in(a, b);
  for (const auto& [of, names] : only_in(b, a)) {
    const auto other = in_a.find(of);
    if (other == in_a.end() || names.size() != 1 || other->second.size() != 1) continue;
    out.emplace(names.front(), other->second.front());
  }
  return out;
}

bool Builds::runs(const session::Context& who, std::span<const flow::RunCount> batch) {
  for (const flow::RunCount& run : batch) {
    const std::uint64_t address = run.edge.from;
    if (address == 0) continue;
    const std::tuple key{who.space, names_.naming(who.space, run.time), address >> kPageBits};
    if (pages_.size() == kMostPages || !pages_.insert(key).second) continue;
    const session::Object object = names_.object(who.space, address, run.time);
    if (object.table == nullptr) continue;
    const auto [it, fresh] = found_.try_emplace(std::string(last_component(object.path)),
                                                Build{"", who.space, run.time});
    if (!fresh) continue;
    it->second.id = id_of(*object.table);
    it->second.program = is_program(*object.table);
  }
  return next_.runs(who, batch);
}

namespace {

// Whether compilers append this to a name, between two dots.
bool is_appended(std::string_view part) {
  constexpr auto kAppended = std::to_array<std::string_view>(
      {"actor",    "cleanup",      "clone", "cold",     "constprop", "default",
       "destroy",  "exit",         "hot",   "isra",     "llvm",      "localalias",
       "lto_priv", "omp_outlined", "part",  "resolver", "resume",    "simdclone",
       "split",    "unlikely",     "warm",  "_omp_fn",  "__uniq"});
  return part.find_first_not_of("0123456789") == part.npos ||
         std::ranges::find(kAppended, part) != kAppended.end();
}

}  // namespace

std::string base_name(const std::string& function) {
  // As c++filt says it: "f(int) [clone .cold]".
  if (const auto clone = function.find(" [clone "); clone != function.npos) {
    return function.substr(0, clone);
  }
  if (function.find('(') != function.npos) return function;
  // "main.work" of Go has a dot of its own.
  std::string_view rest = function;
  while (true) {
    const auto dot = rest.rfind('.');
    if (dot == rest.npos || dot == 0 || !is_appended(rest.substr(dot + 1))) break;
    rest = rest.substr(0, dot);
  }
  return std::string(rest);
}

RebuiltFiles rebuilt(const RanBuilds& a, const RanBuilds& b) {
  RebuiltFiles out;
  for (const auto& [name, build] : a.builds.found()) {
    const auto other = b.builds.found().find(name);
    if (other == b.builds.found().end() || other->second.id == build.id) continue;
    out.emplace(name, in_common(a, b, name));
  }
  return out;
}

}  // namespace hodo::ask
