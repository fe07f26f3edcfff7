// Calls of virtual functions, and the classes of those that each of them led to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "edge.h"
#include "edge_rules.h"
#include "hodo/text/ancestry.h"

namespace hodo::check {

// One call is for one class and those that derive from it. Two functions that it led to are of
// strangers only if an object was not what the call took it for, or had a vtable of something else.
class VirtualSites {
 public:
  // A call that took its target, which only vtables hold, from so far behind where an object
  // points. Speaks of the first function of each family of classes but the first one's.
  std::optional<Verdict> judge(const Edge& edge, std::uint64_t offset);

 private:
  struct Seen {
    const text::Module* module = nullptr;
    std::uint64_t vaddr = 0;
    std::uint64_t address = 0;  // where it was called
    std::optional<text::Ancestry::Kin> kin = std::nullopt;
  };
  using Site = std::pair<const text::Module*, std::uint64_t>;

  const text::Ancestry& ancestry(const text::Module& module);
  const text::Ancestry::Kin& kin(Seen& seen, std::uint64_t offset);
  // Of functions that a linker may have made one of, nobody knows whose call it is.
  bool may_be_folded(const text::Module& module);

  std::map<Site, std::vector<Seen>> seen_;
  std::map<const text::Module*, text::Ancestry> ancestries_;
  std::map<const text::Module*, bool> folded_;
};

}  // namespace hodo::check
