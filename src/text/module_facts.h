// What is known of a file once it has been taken apart (module_analysis.cc), by which Module
// answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/text/module.h"
#include "text_facts.h"

namespace hodo::text {

struct Module::Facts : TextFacts {
  std::vector<std::uint8_t> file;
  std::shared_ptr<const symbol::SymbolTable> symbols;
  image::Elf elf;
  std::vector<Slot> slots;    // by address
  std::vector<Slot> through;  // by address, of the instructions that go through a slot
  std::vector<std::uint64_t> through_chosen;  // instructions, ascending
  std::vector<std::uint64_t> descriptors;     // of threads' variables, ascending
  std::vector<std::string_view> asked;        // names, ascending
  std::vector<KeptPointer> kept_pointers;
  std::vector<std::uint64_t> linker_calls;
  std::optional<std::uint64_t> got;
  std::vector<std::string> needed, wished;
  std::string soname;
  bool ibt = false;
  bool executes_stack = false;
  bool relocates_text = false;
  std::vector<Relocated> relocated;  // by place
  std::vector<PatchSite> patch_sites;
  mutable std::once_flag own_once;
  mutable std::vector<std::string_view> own;

  // The file has a symbol of this name itself, not only a stub that leads to others'.
  bool has_own(std::string_view name) const {
    std::call_once(own_once, [&] {
      for (const symbol::Symbol& s : symbols->symbols()) {
        if (s.kind != symbol::SymbolKind::plt) own.push_back(s.name);
      }
      std::ranges::sort(own);
    });
    return std::ranges::binary_search(own, name);
  }
  const Slot* slot_at(std::uint64_t address) const {  // null: none
    const auto slot = std::ranges::lower_bound(slots, address, {}, &Slot::address);
    return slot != slots.end() && slot->address == address ? &*slot : nullptr;
  }
};

}  // namespace hodo::text
