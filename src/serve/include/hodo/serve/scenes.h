// One moment, as somebody wrote it and went on from there, with what there is to see.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "hodo/ask/navigate.h"
#include "hodo/serve/asking.h"

namespace hodo::serve {

constexpr std::size_t kMostAround = 100'000;

struct SceneInput {
  std::string moment;
  std::string next;                // go to where the thread executes this next
  std::string previous;            // go back to where it executed this last
  std::vector<std::string> steps;  // then these: "insn", "-line", ...
  std::size_t around = 8;          // branches on either side
};

struct FoundScene {
  ask::Scene scene;
  std::vector<ask::MomentInTime> others;  // where the process's other threads were
  // Of a call that was counted to: what is missing to know all of them, or empty.
  std::string unknown;
};

// "FILE:LINE", "0x401136", "SYMBOL+0x10" or a function.
ask::Wanted wanted_by(const std::string& text);

// Errors: usage for what is no step; as ask::find_moment, occurrence_from and step_from.
Result<ask::Moment> moment_of(session::Session& session, const SceneInput& input,
                              const ask::FindOptions& how);
// Errors: as moment_of() and ask::scene_at.
Result<FoundScene> scene_of(session::Session& session, const SceneInput& input,
                            const ask::FindOptions& options);

// What `hodo show --json` prints.
nlohmann::ordered_json scene_json(session::Session& session, const FoundScene& found,
                                  std::size_t around);

}  // namespace hodo::serve
