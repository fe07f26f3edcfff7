// Regions from a recording's mappings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hodo/session/regions.h"
#include "spaces.h"

namespace hodo::session {

class RecordingRegions final : public Regions {
 public:
  // Both must outlive this.
  RecordingRegions(const perfdata::Model& recording, Spaces& spaces)
      : recording_(recording), spaces_(spaces), presences_(recording.processes().size()) {}

  std::optional<Region> region(std::uint32_t space, std::uint64_t address,
                               std::uint64_t time) const override;
  Id id(std::uint32_t space, std::uint64_t address, std::uint64_t time) const override;
  std::vector<MappedFile> files(std::uint32_t space, std::uint64_t time) const override;
  std::uint64_t next_thread(std::uint32_t space, std::uint64_t time) const override;
  std::vector<Fork> forks() const override;
  std::vector<Grant> grants() const override;

 private:
  std::uint32_t id(std::uint32_t space, std::uint64_t address,
                   const perfdata::Mapping& mapping) const;
  std::optional<Grant> grant(const perfdata::Mapping& mapping) const;
  std::string_view location(std::uint32_t file) const;
  // When a space had code of a file mapped, in one or more mappings. Trace clock.
  struct Presence {
    std::uint32_t file = 0;
    std::size_t first = 0;  // of those mappings
    std::uint64_t since = 0;
    std::uint64_t until = 0;
  };
  const std::vector<Presence>& presences(std::uint32_t space) const;
  // files() of a space, from `since` to before `until`.
  struct Present {
    std::uint32_t space = 0;
    std::uint64_t since = 0;
    std::uint64_t until = 0;
    std::vector<MappedFile> files;
  };
  Present present(std::uint32_t space, std::uint64_t time) const;

  const perfdata::Model& recording_;
  Spaces& spaces_;
  // For each space, by `first`; found when they are first asked for: few, where a process that
  // makes code in a file's memory has a mapping for each piece of it.
  mutable std::vector<std::optional<std::vector<Presence>>> presences_;
  mutable Present last_;  // those that were asked for last: who asks asks for them again
};

}  // namespace hodo::session
