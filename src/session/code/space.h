// One process's code over time, and what was mapped where, for names and explanations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "files.h"
#include "hodo/image/address_space.h"
#include "hodo/image/timeline.h"
#include "hodo/perfdata/model.h"
#include "hodo/session/names.h"
#include "jit_code.h"
#include "replaced_files.h"

namespace hodo::session {

// Of a mapping that is not empty.
constexpr std::uint64_t last_address(const perfdata::Mapping& m) {
  return m.address + std::min(m.size - 1, ~std::uint64_t{0} - m.address);
}

// Built from a process's (or the kernel's) mappings. Times are the trace's.
class Space final : public image::CodeSource {
 public:
  // `mappings`, `files` and `recording` must outlive the space. `jit`: of a user's process, or
  // null.
  Space(const std::vector<perfdata::Mapping>& mappings, const perfdata::Model& recording,
        Files& files, image::ContentStore& kept, std::unique_ptr<const JitCode> jit);

  // Nothing that runs is unmapped: where nothing is mapped at `time` the mapping that comes next at
  // this address answers, because the trace's clock, which only some packets move on, lags behind
  // that of the sideband.
  image::CodeSpan find(std::uint64_t address, std::uint64_t time) const override;

  // The function made at run time that is there; nullopt where none is known.
  std::optional<JitCode::Named> jit_function(std::uint64_t address, std::uint64_t time) const {
    return jit_ ? jit_->at(address, time) : std::nullopt;
  }
  bool names_made_code() const { return jit_ != nullptr && jit_->has_names(); }
  // The mapping that find() answers from; null where there is none.
  const perfdata::Mapping* mapping(std::uint64_t address, std::uint64_t time) const;
  struct Around {
    const perfdata::Mapping* mapping = nullptr;
    image::Timeline::Answer answer;  // where and when it is the same one
  };
  Around mapping_around(std::uint64_t address, std::uint64_t time) const;
  // How many times mappings and functions made at run time have changed until `time`.
  std::uint32_t generation(std::uint64_t time) const;
  // How many of these times may have changed what code is called.
  std::uint32_t naming(std::uint64_t time) const;
  Era era(std::uint64_t time) const;

 private:
  struct Change {
    std::uint64_t time;
    std::uint32_t mapping;
    bool ends;
  };
  image::CodeSpan find_jit(std::uint64_t address, std::uint64_t time,
                           const image::CodeSpan& nothing) const;
  void apply(const Change& change, const perfdata::Model& recording, Files& files,
             image::ContentStore& kept);

  // The kept bytes count as a file's.
  bool has_file(const perfdata::Mapping& mapping) const;

  const std::vector<perfdata::Mapping>& mappings_;
  const perfdata::Model& recording_;
  image::AddressSpace code_;
  image::Timeline timeline_;
  std::unique_ptr<const JitCode> jit_;
  Replacements replaced_;
  std::vector<std::uint64_t> changes_;  // times, ascending
};

}  // namespace hodo::session
