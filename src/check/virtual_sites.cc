#include "virtual_sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "hodo/symbol/demangle.h"
#include "pointer.h"

namespace hodo::check {
namespace {

using text::Ancestry;

// Local names begin with a *, so that they are compared by address (GCC's std::type_info).
std::string written(std::string_view name) {
  if (name.starts_with('*')) name.remove_prefix(1);
  const std::string symbol = "_ZTS" + std::string(name);
  std::string out = symbol::demangle(symbol);
  constexpr std::string_view kWhat = "typeinfo name for ";
  if (out.starts_with(kWhat)) out.erase(0, kWhat.size());
  return out;
}

}  // namespace

std::optional<Verdict> VirtualSites::judge(const Edge& edge, std::uint64_t offset) {
  constexpr std::size_t kMost = 4096;  // of one call; files may have as many strangers as they like
  std::vector<Seen>& all = seen_[{edge.from.module, edge.from.vaddr}];
  Seen now{.module = edge.to.module, .vaddr = edge.to.vaddr, .address = edge.to.address};
  if (all.size() == kMost) return std::nullopt;
  std::optional<Seen> stranger;
  for (Seen& one : all) {
    if (one.module != now.module) continue;
    if (one.vaddr == now.vaddr) return std::nullopt;
    if (!Ancestry::are_strangers(kin(one, offset), kin(now, offset))) {
      stranger.reset();
      break;
    }
    if (!stranger) stranger = one;
  }
  all.push_back(now);
  if (!stranger) return std::nullopt;
  if (!has_settled_object(edge) || may_be_folded(*edge.from.module) ||
      may_be_folded(*edge.to.module)) {
    return std::nullopt;
  }
  const Ancestry& known = ancestry(*now.module);
  return Verdict{
      .grade = Grade::unexplained,
      .reason = fmt::format("calls a virtual function of {} where one of {} was called before; no "
                            "class is a base of both",
                            written(known.name(now.kin->holders.front())),
                            written(known.name(stranger->kin->holders.front()))),
      .facts = {{.what = "before went to", .address = stranger->address}}};
}

const Ancestry& VirtualSites::ancestry(const text::Module& module) {
  const auto found = ancestries_.find(&module);
  if (found != ancestries_.end()) return found->second;
  return ancestries_.emplace(&module, module.ancestry()).first->second;
}

const Ancestry::Kin& VirtualSites::kin(Seen& seen, std::uint64_t offset) {
  if (!seen.kin) {
    seen.kin = ancestry(*seen.module).kin(seen.module->virtual_slots(seen.vaddr), offset);
  }
  return *seen.kin;
}

bool VirtualSites::may_be_folded(const text::Module& module) {
  const auto [found, is_new] = folded_.try_emplace(&module, false);
  if (!is_new) return found->second;
  constexpr std::array<std::string_view, 3> kFolding = {"Linker: LLD", "mold ",
                                                        ".note.gnu.gold-version"};
  const bool may = std::ranges::any_of(
      kFolding, [&](std::string_view linker) { return module.contains(linker); });
  found->second = may || ancestry(module).shares_functions();
  return found->second;
}

}  // namespace hodo::check
