// Names from the files that a recording's mappings name.
#pragma once

#include <vector>

#include "code/spaces.h"
#include "hodo/session/names.h"
#include "kernel_names.h"

namespace hodo::session {

class RecordingNames final : public Names {
 public:
  // Both must outlive this.
  RecordingNames(const perfdata::Model& recording, Spaces& spaces);

  Place place(std::uint32_t space, std::uint64_t address, std::uint64_t time) const override;
  Object object(std::uint32_t space, std::uint64_t address, std::uint64_t time) const override;
  std::uint32_t generation(std::uint32_t space, std::uint64_t time) const override;
  std::uint32_t naming(std::uint32_t space, std::uint64_t time) const override;
  bool may_name_more(std::uint32_t space) const override;
  Era era(std::uint32_t space, std::uint64_t time) const override;
  FileAround file_around(std::uint32_t space, std::uint64_t address,
                         std::uint64_t time) const override;
  std::vector<const symbol::SymbolTable*> tables() const override;
  bool replaced(std::uint32_t space, std::uint64_t after, std::uint64_t until) const override;

 private:
  const perfdata::Model& recording_;
  Spaces& spaces_;
  KernelNames kernel_;
  std::vector<std::vector<std::uint64_t>> execs_;  // by process: trace times, ascending
};

}  // namespace hodo::session
