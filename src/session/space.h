// One process's code over time, and what was mapped where, for names and explanations.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "files.h"
#include "hodo/image/address_space.h"
#include "hodo/image/timeline.h"
#include "hodo/perfdata/model.h"

namespace hodo::session {

// Built from a process's (or the kernel's) mappings. Times are the trace's.
class Space final : public image::CodeSource {
 public:
  // `mappings`, `files` and `recording` must outlive the space.
  Space(const std::vector<perfdata::Mapping>& mappings, const perfdata::Session& recording,
        Files& files, image::ContentStore& kept);

  // Nothing that runs is unmapped: where nothing is mapped at `time` the mapping that comes next at
  // this address answers, because the trace's clock, which only some packets move on, lags behind
  // that of the sideband.
  image::CodeSpan find(std::uint64_t address, std::uint64_t time) const override;

  // The mapping that find() answers from; null where there is none.
  const perfdata::Mapping* mapping(std::uint64_t address, std::uint64_t time) const;
  // How many times mappings have changed until `time`.
  std::uint32_t generation(std::uint64_t time) const;

 private:
  struct Change {
    std::uint64_t time;
    std::uint32_t mapping;
    bool ends;
  };
  void apply(const Change& change, const perfdata::Session& recording, Files& files,
             image::ContentStore& kept);

  const std::vector<perfdata::Mapping>& mappings_;
  image::AddressSpace code_;
  image::Timeline timeline_;
  std::vector<std::uint64_t> changes_;  // times, ascending
};

}  // namespace hodo::session
