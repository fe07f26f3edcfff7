#include "hodo/ask/builds.h"

#include "hodo/base/last_component.h"
#include "hodo/base/page.h"
#include "hodo/image/elf.h"

namespace hodo::ask {
namespace {}  // namespace

bool Builds::runs(const session::Context& who, std::span<const flow::RunCount> batch) {
  for (const flow::RunCount& run : batch) {
    const std::uint64_t address = run.edge.from;
    if (address == 0) continue;
    const std::tuple key{who.space, names_.generation(who.space, run.time), address >> kPageBits};
    if (pages_.size() == kMostPages || !pages_.insert(key).second) continue;
    const session::Object object = names_.object(who.space, address, run.time);
    if (object.table == nullptr || object.table->elf().build_id.empty()) continue;
    found_[std::string(last_component(object.path))] = image::to_hex(object.table->elf().build_id);
  }
  return next_.runs(who, batch);
}

std::set<std::string> rebuilt(const Builds& a, const Builds& b) {
  std::set<std::string> out;
  for (const auto& [name, build_id] : a.found()) {
    const auto other = b.found().find(name);
    if (other != b.found().end() && other->second != build_id) out.insert(name);
  }
  return out;
}

}  // namespace hodo::ask
