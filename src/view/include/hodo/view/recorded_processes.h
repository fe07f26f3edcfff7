// Which processes a recording has, and the address spaces in which they ran (hodo vm ps FILE).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "hodo/session/facts.h"
#include "hodo/session/sink.h"
#include "hodo/view/style.h"

namespace hodo::view {

// Takes the branches of a session and keeps what they say of processes.
class RecordedProcesses final : public session::BranchSink {
 public:
  // `facts` must outlive it.
  explicit RecordedProcesses(const session::Facts& facts) : facts_(facts) {}

  bool branches(const session::Context& context, std::span<const Branch> batch) override;

  std::string text(const Style& style) const;
  // {"processes": [{"pid", "ppid", "name", "cr3": [HEX], "branches", "threads": [{"tid",
  // "name"}]}]}
  nlohmann::ordered_json json() const;

 private:
  struct Seen {
    // Under which user code ran, as PIP packets have them: of an isolated kernel the user half's.
    std::set<std::uint64_t> cr3s;
    std::uint64_t branches = 0;
  };
  const session::Facts& facts_;
  std::map<std::uint32_t, Seen> seen_;  // by index of the process
};

}  // namespace hodo::view
