#include "hodo/ask/builds.h"

#include <optional>
#include <vector>

#include "hodo/base/last_component.h"
#include "hodo/base/page.h"
#include "hodo/image/elf.h"
#include "hodo/isa/insn.h"

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

// The functions of a file by name, where the name means one.
std::map<std::string, const analyze::CoveredFunction*> named(const analyze::CoveredModule& m) {
  std::map<std::string, const analyze::CoveredFunction*> out;
  for (const analyze::CoveredFunction& f : m.functions) {
    auto [it, fresh] = out.try_emplace(f.name, &f);
    if (!fresh) it->second = nullptr;
  }
  return out;
}

std::set<std::string> base_names(const analyze::CoveredModule& m) {
  std::set<std::string> out;
  for (const analyze::CoveredFunction& f : m.functions) out.insert(base_name(f.name));
  return out;
}

void add_single(const std::set<std::string>& here, const std::set<std::string>& there,
                std::set<std::string>& single) {
  for (const std::string& name : here) {
    if (!there.contains(name)) single.insert(name);
  }
}

Rebuilt in_common(const RanBuilds& a, const RanBuilds& b, const std::string& file) {
  Rebuilt out;
  const analyze::CoveredModule* const in_a = module_of(a.coverage, file);
  const analyze::CoveredModule* const in_b = module_of(b.coverage, file);
  if (in_a == nullptr || in_b == nullptr) return out;
  const std::set<std::string> names_a = base_names(*in_a);
  const std::set<std::string> names_b = base_names(*in_b);
  add_single(names_a, names_b, out.single);
  add_single(names_b, names_a, out.single);
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
    (same ? out.alike : other).insert(base_name(name));
  }
  for (const std::string& name : other) out.alike.erase(name);
  return out;
}

}  // namespace

bool Builds::runs(const session::Context& who, std::span<const flow::RunCount> batch) {
  for (const flow::RunCount& run : batch) {
    const std::uint64_t address = run.edge.from;
    if (address == 0) continue;
    const std::tuple key{who.space, names_.generation(who.space, run.time), address >> kPageBits};
    if (pages_.size() == kMostPages || !pages_.insert(key).second) continue;
    const session::Object object = names_.object(who.space, address, run.time);
    if (object.table == nullptr || object.table->elf().build_id.empty()) continue;
    found_.try_emplace(std::string(last_component(object.path)),
                       Build{image::to_hex(object.table->elf().build_id), who.space, run.time});
  }
  return next_.runs(who, batch);
}

std::string base_name(const std::string& function) {
  const auto dot = function.find('.');
  return dot == function.npos || dot == 0 ? function : function.substr(0, dot);
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
