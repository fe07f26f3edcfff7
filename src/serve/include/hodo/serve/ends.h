// How the processes of a recording ended.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hodo/ask/find.h"
#include "hodo/ask/scene.h"
#include "hodo/session/ends.h"

namespace hodo::serve {

constexpr std::size_t kMostOfEnds = 1000;  // lines, instructions and branches that are shown

// A process with the threads that are looked at.
struct Ended {
  session::ProcessEnd end;
  bool alone = false;                    // the thread `end.tid`, while the process went on
  bool known = true;                     // how it ended
  bool runs = false;                     // it had not, when a recording that grows was opened
  std::vector<ask::LastMoment> threads;  // the one that ran last first
};

// Those of `pid`, or with -1 all; the crashes first. `lasts`: where the threads' paths end.
std::vector<Ended> ended_processes(const session::Session& session,
                                   std::span<const ask::LastMoment> lasts, std::int32_t pid);
// "killed by SIGSEGV (signal 11) in thread 4242".
std::string end_words(const Ended& ended);
// What there is at a moment, as the end of a path: most of it lies before. Errors: as
// ask::scene_at.
Result<ask::Scene> last_scene(session::Session& session, const ask::Moment& moment,
                              const session::ProgressFunction& progress,
                              const ask::IndexedRecording* index = nullptr);

// Of a process that exited with another status than 0: where the thread that called for it raised
// an exception or a panic that nobody caught, or else the one, of its last, that the outermost
// function caught: what a runtime raises and catches while it reports one is not meant. nullopt: it
// never did, or the process ended otherwise. Errors: as ask::scene_at.
Result<std::optional<ask::Scene>> last_exception(session::Session& session, const Ended& ended,
                                                 const session::ProgressFunction& progress,
                                                 const ask::IndexedRecording* index = nullptr);

// What ended a process with a status.
struct Exit {
  bool main_returned = false;  // else `function` was called: exit, _exit or the like
  std::string function;        // raw
  ask::Scene scene;            // at main's return, or where the program itself made the call
};
// Of a process that exited with another status than 0, whose `last` scene this is. nullopt: it
// ended otherwise, or that is not known. Errors: as ask::scene_at.
Result<std::optional<Exit>> exit_asked_for(session::Session& session, const Ended& ended,
                                           const ask::Scene& last,
                                           const session::ProgressFunction& progress,
                                           const ask::IndexedRecording* index = nullptr);

inline constexpr std::size_t kMostLastScenes = 16;

// What `hodo crash --json` prints, but for the losses: of at most kMostLastScenes threads what
// there was, of the others how many there are. Errors: as last_scene().
Result<nlohmann::ordered_json> ends_json(session::Session& session, std::span<const Ended> all,
                                         std::size_t around,
                                         const session::ProgressFunction& progress,
                                         const ask::IndexedRecording* index = nullptr);

}  // namespace hodo::serve
