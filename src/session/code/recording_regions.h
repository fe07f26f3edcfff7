// Regions from a recording's mappings.
#pragma once

#include "hodo/session/regions.h"
#include "spaces.h"

namespace hodo::session {

class RecordingRegions final : public Regions {
 public:
  // Both must outlive this.
  RecordingRegions(const perfdata::Model& recording, Spaces& spaces)
      : recording_(recording), spaces_(spaces), of_files_(recording.processes().size()) {}

  std::optional<Region> region(std::uint32_t space, std::uint64_t address,
                               std::uint64_t time) const override;
  std::uint32_t id(std::uint32_t space, std::uint64_t address, std::uint64_t time) const override;
  std::vector<MappedFile> files(std::uint32_t space, std::uint64_t time) const override;
  std::uint64_t next_thread(std::uint32_t space, std::uint64_t time) const override;
  std::vector<Fork> forks() const override;
  std::vector<Grant> grants() const override;

 private:
  std::uint32_t id(std::uint32_t space, std::uint64_t address,
                   const perfdata::Mapping& mapping) const;
  std::optional<Grant> grant(const perfdata::Mapping& mapping) const;
  std::string_view location(std::uint32_t file) const;
  const std::vector<std::uint32_t>& mappings_of_files(std::uint32_t space) const;

  const perfdata::Model& recording_;
  Spaces& spaces_;
  // For each space the indices of its mappings of files' code, found when they are first asked for:
  // few among all the pieces of code that a process with a code generator has.
  mutable std::vector<std::optional<std::vector<std::uint32_t>>> of_files_;
};

}  // namespace hodo::session
