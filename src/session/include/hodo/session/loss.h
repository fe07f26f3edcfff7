// What is missing from a decoded session, and why: one line per cause.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/flow/decoder.h"
#include "hodo/session/sink.h"

namespace hodo::session {

// One place where something was lost.
struct LossSite {
  Context who;
  std::optional<std::uint64_t> offset;  // in the queue's stream, or in the file
  std::uint64_t ip = 0;                 // where the path was lost; 0: not in the code
  std::uint64_t last_ip = 0;            // the last address that the path is known to have come to
  std::uint64_t time = 0;               // trace clock
  std::string reason;                   // one line
};

// Everything that was lost for one cause.
struct LossLine {
  std::string cause;   // a stable word for programs: "overflow", "file-missing", ...
  std::string remedy;  // what a person can do about it
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;      // of trace that was not decoded because of it
  std::vector<LossSite> sites;  // the first ones, at most LossTally::kSites
};

// Causes beyond those of flow::LossCause.
namespace causes {
inline constexpr std::string_view kFileMissing = "file-missing";
inline constexpr std::string_view kFileChanged = "file-changed";
inline constexpr std::string_view kKernelCode = "kernel-code";
inline constexpr std::string_view kUnfinished = "unfinished";
inline constexpr std::string_view kDamaged = "damaged";
inline constexpr std::string_view kAuxTruncated = "aux-truncated";
inline constexpr std::string_view kLostRecords = "lost-records";
// A program ran, or ran on, without the recorder.
inline constexpr std::string_view kNotRecorded = "not-recorded";
// Two branches that BTS or LBR recorded one after the other, with no way from the first to the
// second.
inline constexpr std::string_view kGap = "gap";
}  // namespace causes

// What to do about a loss; empty for a cause that is not known.
std::string_view remedy(std::string_view cause);

// Counts losses by cause in bounded memory.
class LossTally {
 public:
  static constexpr std::size_t kSites = 100;

  void add(std::string_view cause, LossSite site, std::uint64_t bytes = 0, std::uint64_t count = 1);
  // A whole line that was counted elsewhere.
  void take(LossLine line);
  // `count` more of a cause that was added before, without their places.
  void more(std::string_view cause, std::uint64_t count);
  // In order of first occurrence.
  std::vector<LossLine> lines() const { return lines_; }

 private:
  std::vector<LossLine> lines_;
};

}  // namespace hodo::session
