// A moment, for programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "hodo/view/moments.h"
#include "hodo/view/source_text.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostJsonCalls = 2000;

Json address_json(SceneView& view, const session::Context& who, std::uint64_t address,
                  std::uint64_t time) {
  if (address == 0) return nullptr;
  const session::Place place = view.session.names().place(who.space, address, time);
  Json out{{"address", fmt::format("{:#x}", address)}};
  if (!place.object.empty()) out["object"] = place.object;
  if (!place.symbol.empty()) out["function"] = place.symbol;
  if (!place.object.empty() || !place.symbol.empty()) out["offset"] = place.offset;
  const auto& line = view.lines_of.at(who.space, address, time);
  if (line.line != 0) {
    out["file"] = view.lines_of.path(line);
    out["line"] = line.line;
  }
  return out;
}

Json moment_json(const std::optional<ask::Moment>& moment) {
  return moment ? Json(ask::to_string(*moment)) : Json(nullptr);
}

std::string_view entry_name(analyze::CallEntry how) {
  switch (how) {
    case analyze::CallEntry::called:
      return "called";
    case analyze::CallEntry::jumped:
      return "jumped";
    case analyze::CallEntry::outside:
      return "outside";
    case analyze::CallEntry::first:
      break;
  }
  return "first";
}

// Where the compiler has inlined calls at the address: these, the innermost first, and the function
// itself, each with its line. Empty elsewhere.
Json frames_json(SceneView& view, const ask::OpenFrame& frame) {
  Json out = Json::array();
  if (frame.at == 0) return out;
  const auto sources = session::source_of(
      view.session.names().object(view.scene.who.space, frame.at, frame.at_time));
  if (sources.empty() || !sources.front().inlined) return out;
  for (const symbol::SourceFrame& source : sources) {
    out.push_back({{"function", source.inlined ? source.function : frame.name},
                   {"file", source.file},
                   {"line", source.line},
                   {"inlined", source.inlined}});
  }
  return out;
}

Json call_json(SceneView& view, const ask::OpenFrame& frame) {
  const bool known = frame.how != analyze::CallEntry::first;
  Json call{{"function", frame.name},
            {"object", frame.object},
            {"at", address_json(view, view.scene.who, frame.at, frame.at_time)},
            {"entered", known ? Json(ask::to_string(frame.entered)) : Json(nullptr)},
            {"how", entry_name(frame.how)},
            {"instructions", frame.instructions}};
  if (frame.entry_time != 0) call["time"] = frame.entry_time;
  if (Json frames = frames_json(view, frame); !frames.empty()) call["frames"] = std::move(frames);
  return call;
}

void add_calls(Json& out, SceneView& view) {
  const std::span<const ask::OpenFrame> all = view.scene.calls;
  const auto [inner, outer] = shown_calls(all.size(), kMostJsonCalls);
  Json& calls = out["calls"] = Json::array();
  for (const ask::OpenFrame& frame : all.first(inner)) calls.push_back(call_json(view, frame));
  if (outer == inner) return;
  for (const ask::OpenFrame& frame : all.subspan(outer)) calls.push_back(call_json(view, frame));
  out["calls_left_out"] = {{"behind", inner}, {"count", outer - inner}};
}

Json branch_json(SceneView& view, const ask::Passed& passed, std::uint64_t number) {
  const Branch& b = passed.branch;
  return {{"number", number},
          {"kind", name(b.kind)},
          {"from", address_json(view, passed.who, b.from, b.time)},
          {"to", address_json(view, passed.who, b.to, b.time)},
          {"instructions", b.insns}};
}

// The instructions around the moment, in the order in which the path came to them.
Json instructions_json(SceneView& view) {
  const auto there =
      std::ranges::lower_bound(view.steps, view.scene.moment, {}, &ask::Step::moment);
  const auto here = static_cast<std::size_t>(there - view.steps.begin());
  const std::size_t first = here - std::min(here, view.around);
  const std::size_t last = std::min(view.steps.size(), here + view.around + 1);
  Json out = Json::array();
  for (std::size_t i = first; i < last; ++i) {
    const ask::Step& step = view.steps[i];
    Json one{{"moment", ask::to_string(step.moment)},
             {"at", address_json(view, step.who, step.address, step.time)},
             {"text", view.code.disassemble(step.who.space, step.address, step.time)}};
    if (!step.executed) one["executed"] = step.lost ? Json(nullptr) : Json(false);
    out.push_back(std::move(one));
  }
  return out;
}

// The source around the moment, as far as the file is here.
Json source_json(SceneView& view) {
  if (view.scene.address == 0) return nullptr;
  const auto here = view.lines_of.at(view.scene.who.space, view.scene.address, view.scene.time);
  if (here.line == 0) return nullptr;
  std::set<std::uint32_t> ran;
  for (const ask::Step& step : view.steps) {
    const auto line = view.lines_of.at(step.who.space, step.address, step.time);
    if (step.executed && line.file == here.file) ran.insert(line.line);
  }
  const auto reach = static_cast<std::uint32_t>(std::min<std::size_t>(view.around, 1000));
  const std::string& path = view.lines_of.path(here);
  Json lines = Json::array();
  for (const auto& [number, words] :
       read_source(path, here.line - std::min(here.line - 1, reach), here.line + reach)) {
    lines.push_back({{"line", number}, {"text", words}, {"ran", ran.contains(number)}});
  }
  const auto program =
      view.session.names().object(view.scene.who.space, view.scene.address, view.scene.time);
  return {{"file", path},
          {"line", here.line},
          {"newer", is_newer(path, program.location())},
          {"lines", std::move(lines)}};
}

}  // namespace

Json fault_json(const session::Fault& fault) {
  using Access = session::Fault::Access;
  return {{"access", fault.access == Access::read    ? "read"
                     : fault.access == Access::write ? "write"
                                                     : "execute"},
          {"address", fmt::format("{:#x}", fault.address)},
          {"mapped", fault.mapped}};
}

Json scene_json(SceneView& view) {
  const ask::Scene& scene = view.scene;
  session::Clock clock = view.session.clock();
  Json out{{"moment", ask::to_string(scene.moment)}};
  if (scene.who.pid >= 0) out["pid"] = scene.who.pid;
  if (scene.who.tid >= 0) out["tid"] = scene.who.tid;
  out["time"] = scene.time == 0 ? Json(nullptr) : Json(clock.nanoseconds(scene.time));
  out["ran"] = scene.ran;
  out["stands_at"] = address_json(view, scene.who, scene.address, scene.time);
  if (scene.address != 0) {
    out["instruction"] = view.code.disassemble(scene.who.space, scene.address, scene.time);
  }
  if (scene.goes_round) out["goes_round"] = true;
  add_calls(out, view);
  out["lost_before"] = scene.last_loss == 0 ? Json(nullptr) : Json(scene.last_loss);
  Json& before = out["before"] = Json::array();
  for (std::size_t i = scene.before.size() - std::min(scene.before.size(), view.around);
       i < scene.before.size(); ++i) {
    before.push_back(
        branch_json(view, scene.before[i], scene.moment.branch + 1 + i - scene.before.size()));
  }
  Json& after = out["after"] = Json::array();
  for (std::size_t i = 0; i < std::min(scene.after.size(), view.around); ++i) {
    after.push_back(branch_json(view, scene.after[i], scene.moment.branch + 1 + i));
  }
  out["instructions"] = instructions_json(view);
  out["source"] = source_json(view);
  Json& steps = out["steps"];
  for (std::size_t i = 0; i < ask::kStepKinds; ++i) {
    steps[std::string(ask::name(static_cast<ask::StepKind>(i)))] = {
        {"back", moment_json(view.near.before[i])}, {"forward", moment_json(view.near.after[i])}};
  }
  Json& others = out["other_threads"] = Json::array();
  for (const ask::MomentInTime& other : view.others) {
    others.push_back({{"moment", ask::to_string(other.moment)}, {"time", other.time}});
  }
  return out;
}

}  // namespace hodo::view
