// The code that a queue sees: that of whoever runs.
#pragma once

#include <vector>

#include "hodo/image/code.h"
#include "stream/occupancy.h"

namespace hodo::session {

// Answers for user addresses from the space of the occupant at that time, and for kernel addresses
// (bit 63 set) from the kernel's.
class SwitchedSource final : public image::CodeSource {
 public:
  // `spaces` by turn of the occupancy, null where nothing is known; all must outlive this.
  SwitchedSource(const Occupancy& occupancy, std::vector<const image::CodeSource*> spaces,
                 const image::CodeSource* kernel)
      : occupancy_(occupancy), spaces_(std::move(spaces)), kernel_(kernel) {}

  image::CodeSpan find(std::uint64_t address, std::uint64_t time) const override;

 private:
  const Occupancy& occupancy_;
  std::vector<const image::CodeSource*> spaces_;
  const image::CodeSource* kernel_;
};

}  // namespace hodo::session
