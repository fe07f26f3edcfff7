// In which address spaces the processes of a recording ran.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "hodo/session/sink.h"

namespace hodo::analyze {

// Takes the branches of a session and keeps what they say of processes.
class ProcessSpaces final : public session::BranchSink {
 public:
  struct Seen {
    // Under which user code ran, as PIP packets have them: of an isolated kernel the user half's.
    std::set<std::uint64_t> cr3s;
    std::uint64_t branches = 0;
  };

  bool branches(const session::Context& context, std::span<const Branch> batch) override;

  // Of a process, by Context::space; an empty one where it was not seen.
  Seen of(std::uint32_t space) const {
    const auto found = seen_.find(space);
    return found == seen_.end() ? Seen{} : found->second;
  }

 private:
  std::map<std::uint32_t, Seen> seen_;
};

}  // namespace hodo::analyze
