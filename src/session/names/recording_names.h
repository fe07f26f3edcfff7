// Names from the files that a recording's mappings name.
#pragma once

#include "code/spaces.h"
#include "hodo/session/names.h"
#include "kernel_names.h"

namespace hodo::session {

class RecordingNames final : public Names {
 public:
  // Both must outlive this.
  RecordingNames(const perfdata::Model& recording, Spaces& spaces)
      : recording_(recording), spaces_(spaces), kernel_(recording) {}

  Place place(std::uint32_t space, std::uint64_t address, std::uint64_t time) const override;
  Object object(std::uint32_t space, std::uint64_t address, std::uint64_t time) const override;
  std::uint32_t generation(std::uint32_t space, std::uint64_t time) const override;
  Era era(std::uint32_t space, std::uint64_t time) const override;
  FileAround file_around(std::uint32_t space, std::uint64_t address,
                         std::uint64_t time) const override;

 private:
  const perfdata::Model& recording_;
  Spaces& spaces_;
  KernelNames kernel_;
};

}  // namespace hodo::session
