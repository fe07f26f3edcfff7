// A moment, for people.
#include <fmt/format.h>

#include "hodo/view/moments.h"
#include "hodo/view/place.h"
#include "hodo/view/table.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

std::string time_text(session::Session& session, std::uint64_t ticks) {
  session::Clock clock = session.clock();
  if (ticks == 0) return "";
  return clock.known() ? seconds(clock.nanoseconds(ticks)) : fmt::format("{} ticks", ticks);
}

std::string head(SceneView& view, const Style& style) {
  const ask::Scene& scene = view.scene;
  std::string out;
  const auto add = [&](std::string_view label, const std::string& value) {
    if (value.empty()) return;
    out += style.paint(Tone::dim, fmt::format("{:<13}", label)) + value + "\n";
  };
  add("moment", ask::to_string(scene.moment));
  add("thread", scene.who.tid < 0 ? "unknown"
                                  : fmt::format("{} of process {}", scene.who.tid, scene.who.pid));
  add("time", time_text(view.session, scene.time));
  if (scene.address == 0) {
    add("stands at", nowhere_text(scene));
    return out;
  }
  const session::Names& names = view.session.names();
  add("stands at",
      describe(scene.address, names.place(scene.who.space, scene.address, scene.time), style));
  add("instruction", printable(view.code.disassemble(scene.who.space, scene.address, scene.time)));
  if (scene.goes_round) add("how often", std::string(kGoesRound));
  const auto sources = session::source_of(names.object(scene.who.space, scene.address, scene.time));
  add("source", source_text(sources, {.line = true, .inlined = true}));
  return out;
}

std::string steps_text(const ask::Neighbours& near, const Style& style) {
  Table table({{.title = "step", .tone = Tone::name}, {.title = "back"}, {.title = "forward"}});
  for (std::size_t i = 0; i < ask::kStepKinds; ++i) {
    const auto side = [](const std::optional<ask::Moment>& m) {
      return m ? ask::to_string(*m) : "-";
    };
    table.add({std::string(ask::name(static_cast<ask::StepKind>(i))), side(near.before[i]),
               side(near.after[i])});
  }
  return table.render(style);
}

std::string others_text(SceneView& view, const Style& style) {
  Table table({{.title = "moment"}, {.title = "process"}, {.title = "time"}});
  for (const ask::MomentInTime& other : view.others) {
    table.add({ask::to_string(other.moment), std::to_string(other.who.pid), seconds(other.time)});
  }
  return table.render(style);
}

}  // namespace

std::string scene_text(SceneView& view, const Style& style) {
  std::string out = head(view, style);
  const auto part = [&](std::string_view title, const std::string& text) {
    if (!text.empty()) out += "\n" + style.paint(Tone::title, title) + "\n" + text;
  };
  part("Open calls", calls_of_scene(view, style));
  part("Source (* ran near the moment)", source_of_scene(view, style));
  part("Instructions", instructions_of_scene(view, style));
  part("Branches", branches_of_scene(view, style));
  part("Steps from here", steps_text(view.near, style));
  if (!view.others.empty()) part("Other threads at this time", others_text(view, style));
  return out;
}

}  // namespace hodo::view
