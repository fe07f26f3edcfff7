// From a moment to others of its thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "hodo/ask/occurrences.h"
#include "hodo/ask/scene.h"

namespace hodo::ask {

enum class StepKind : std::uint8_t {
  insn,  // one instruction
  line,  // to the beginning of another source line, also in a function that is called
  over,  // the same, over the functions that are called
  call,  // into the next function that is called
  ret,   // behind the next return
  out    // out of the innermost open call: behind its end, or to where it was called
};
inline constexpr std::size_t kStepKinds = 6;
std::string_view name(StepKind kind);  // "insn", "line", "over", "call", "return", "out"

// Which source line an address is of, remembered.
class SourceLines {
 public:
  // `names` must outlive this.
  explicit SourceLines(const session::Names& names) : names_(names) {}

  struct Line {
    std::uint32_t file = 0;  // a number for its path
    std::uint32_t line = 0;  // 0: unknown
    bool operator==(const Line&) const = default;
  };
  const Line& at(std::uint32_t space, std::uint64_t address, std::uint64_t time);
  const std::string& path(const Line& line) const { return paths_[line.file]; }

 private:
  static constexpr std::size_t kMostKept = std::size_t{1} << 18;
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;

  const session::Names& names_;
  std::map<Key, Line> known_;
  std::map<std::string, std::uint32_t> files_;
  std::vector<std::string> paths_{""};
};

// Where the steps from a moment lead, as far as the scene around it reaches.
struct Neighbours {
  std::array<std::optional<Moment>, kStepKinds> before;
  std::array<std::optional<Moment>, kStepKinds> after;
};
Neighbours neighbours_of(const Scene& scene, std::span<const Step> steps, SourceLines& lines);

// Branches before and after a moment in which a step is looked for.
inline constexpr std::size_t kStepReach = 65536;

// One step. Errors: as scene_at(); not_found where there is no such moment within reach.
Result<Moment> step_from(session::Session& session, const Moment& moment, StepKind kind,
                         bool forward, const session::ProgressFunction& progress = {},
                         const IndexedRecording* index = nullptr);

// The next or the last execution of something by the moment's thread. Errors: as
// each_occurrence(); not_found where there is none.
Result<Moment> occurrence_from(session::Session& session, const Moment& moment,
                               const Wanted& wanted, bool forward,
                               const session::ProgressFunction& progress = {},
                               const IndexedRecording* index = nullptr);

}  // namespace hodo::ask
