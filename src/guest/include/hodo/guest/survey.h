// What can be said from outside about who runs in a guest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hodo/guest/census.h"
#include "hodo/guest/code_ranges.h"

namespace hodo::guest {

// How often processors were seen in an address space, halted ones left out.
struct Activity {
  std::uint64_t cr3 = 0;  // physical address of the top-level table
  std::uint64_t user = 0, kernel = 0;
  std::uint64_t last_ip = 0;
};

// Of an address space in a guest whose system is not known.
struct UnknownSpace {
  std::uint64_t cr3 = 0;
  std::vector<CodeRange> code;
};

struct Survey {
  std::string system;          // the kernel's banner, or why it is not known
  std::size_t processors = 0;  // that the machine has
  std::uint64_t looks = 0;     // at a processor each: all of them, as often as was looked
  std::vector<Activity> activity;
  // Of a Linux guest.
  std::uint64_t kernel_base = 0;  // where its text begins, after KASLR
  bool isolated = false;          // page-table isolation
  std::optional<Census> census;
  // Of others.
  std::vector<UnknownSpace> spaces;

  // Null: nobody was seen there.
  const Activity* activity_of(std::uint64_t cr3) const {
    const auto found = std::ranges::find(activity, cr3, &Activity::cr3);
    return found == activity.end() ? nullptr : &*found;
  }
};

}  // namespace hodo::guest
