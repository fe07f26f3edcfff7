#include "spaces.h"

namespace hodo::session {

const Space* Spaces::user(std::uint32_t index) {
  if (index >= spaces_.size()) return nullptr;
  std::unique_ptr<Space>& space = spaces_[index];
  if (!space) {
    const auto& mappings = recording_.processes()[index].mappings;
    space = std::make_unique<Space>(mappings, recording_, files_, kept_);
  }
  return space.get();
}

const Space& Spaces::kernel() {
  if (!kernel_) {
    kernel_ = std::make_unique<Space>(recording_.kernel_mappings(), recording_, files_, kept_);
  }
  return *kernel_;
}

}  // namespace hodo::session
