// What `hodo show`, `hodo list` and `hodo crash` print: moments, open calls, code that ran, calls.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/ask/calls.h"
#include "hodo/ask/find.h"
#include "hodo/ask/navigate.h"
#include "hodo/ask/scene.h"
#include "hodo/session/ends.h"
#include "hodo/session/session.h"
#include "hodo/view/output.h"
#include "hodo/view/style.h"

namespace hodo::view {

// A scene with what is shown of it. `around`: lines of source, instructions and branches on either
// side of the moment.
struct SceneView {
  SceneView(session::Session& in, const ask::Scene& of, std::size_t lines)
      : session(in), scene(of), around(lines), code(in), lines_of(in.names()) {
    steps = ask::steps_of(scene, code, kSteps);
    near = ask::neighbours_of(scene, steps, lines_of);
  }
  static constexpr std::size_t kSteps = 4096;

  session::Session& session;
  const ask::Scene& scene;
  std::size_t around;
  ask::Code code;
  ask::SourceLines lines_of;
  std::vector<ask::Step> steps;
  ask::Neighbours near;
  std::vector<ask::MomentInTime> others;  // the other threads at the same time
};

// Of a scene that goes round.
inline constexpr std::string_view kGoesRound =
    "the code comes back here without a packet: the trace cannot say how often, nor what is open";

// Of a scene without an address: why.
std::string nowhere_text(const ask::Scene& scene);

// Which open calls are shown where there are more than `most`, as in a recursion that does not end:
// the innermost, up to `inner`, and from `outer` on the outermost, an eighth. Equal: all.
struct ShownCalls {
  std::size_t inner, outer;
};
inline ShownCalls shown_calls(std::size_t count, std::size_t most) {
  if (count <= most) return {count, count};
  return {most - most / 8, count - most / 8};
}

// What `hodo show` says.
std::string scene_text(SceneView& view, const Style& style);
nlohmann::ordered_json scene_json(SceneView& view);

// Parts of it, for `hodo crash`.
std::string calls_of_scene(SceneView& view, const Style& style);
std::string instructions_of_scene(SceneView& view, const Style& style);
std::string lines_of_scene(SceneView& view, const Style& style);
std::string branches_of_scene(SceneView& view, const Style& style);
std::string source_of_scene(SceneView& view, const Style& style);

// `hodo list`, all rows of it.
nlohmann::ordered_json call_list_json(const ask::CallList& list, session::Session& session);
// The same and as text, a row at a time: there may be a million.
void write_call_list(const ask::CallList& list, session::Session& session, const Style& style,
                     Output& out);
void write_call_list_json(const ask::CallList& list, session::Session& session, Output& out);

// How a process ended, in words: "killed by SIGSEGV (signal 11) in thread 4242, reading 0x10:
// nothing is mapped there".
std::string end_words(const session::ProcessEnd& end);
// {"access", "address", "mapped"}
nlohmann::ordered_json fault_json(const session::Fault& fault);

}  // namespace hodo::view
