#include "modules.h"

namespace hodo::check {

const Module* Modules::get(std::string_view location) {
  if (const auto known = by_location_.find(location); known != by_location_.end()) {
    return known->second.get();
  }
  const std::string path(location);
  std::shared_ptr<const Module>& slot = by_location_[path];
  const auto elf = image::read_elf_file(path);
  if (elf && !elf->build_id.empty()) {
    const auto same = by_build_id_.find(elf->build_id);
    if (same != by_build_id_.end()) {
      slot = same->second;
      return slot.get();
    }
  }
  auto module = Module::analyze(path, cache_);
  if (!module) {
    unread_.push_back({path, module.error().message});
    return nullptr;
  }
  slot = std::move(*module);
  if (!slot->elf().build_id.empty()) by_build_id_.emplace(slot->elf().build_id, slot);
  return slot.get();
}

}  // namespace hodo::check
