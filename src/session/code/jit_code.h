// Functions that a process made at run time, by what its runtime told perf about them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "files.h"
#include "hodo/image/address_space.h"
#include "hodo/image/timeline.h"
#include "hodo/perfdata/model.h"
#include "hodo/symbol/jit.h"

namespace hodo::session {

class JitCode {
 public:
  // Reads the process's jitdump, which it maps so that it is in the recording, or, without one,
  // /tmp/perf-PID.map; of a guest's process neither, unless `files` say where its files are. Files
  // of other users than root and the reader's are not believed: anybody can write to /tmp. What
  // cannot be read is not there.
  JitCode(const perfdata::Process& process, const perfdata::Model& recording, const Files& files,
          image::ContentStore& kept);

  // The code there, which only a jitdump has; content 0 where there is none.
  // Where nothing is there yet the next function at this address answers, as in Space::find.
  image::CodeSpan find(std::uint64_t address, std::uint64_t time) const;

  struct Named {
    const std::string* name;  // raw
    std::uint64_t start;
    std::uint64_t size;
  };
  std::optional<Named> at(std::uint64_t address, std::uint64_t time) const;

  bool has_names() const { return !functions_.empty(); }

  // When functions came, trace time; unsorted.
  const std::vector<std::uint64_t>& changes() const { return changes_; }

 private:
  void add(const symbol::JitFunction& function, std::uint64_t time, image::ContentStore& kept);
  bool read_dump(const perfdata::Process& process, const perfdata::Model& recording,
                 const Files& files, image::ContentStore& kept);
  void read_map(const std::string& path, image::ContentStore& kept);

  std::vector<symbol::JitFunction> functions_;  // without their code
  image::Timeline names_;
  image::AddressSpace code_;
  std::vector<std::uint64_t> changes_;
};

}  // namespace hodo::session
