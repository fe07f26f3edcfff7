#include "hodo/view/differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "difference_words.h"
#include "hodo/symbol/demangle.h"
#include "hodo/view/moments.h"
#include "hodo/view/place.h"
#include "hodo/view/table.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

using Json = nlohmann::ordered_json;

std::string function_of(const ask::Side& side, const ask::Scene& scene) {
  return side.session->names().place(scene.who.space, scene.address, scene.time).symbol;
}

std::string parting_text(const ComparedPaths& paths, const Style& style) {
  const ask::Comparison& c = paths.comparison;
  const ask::Scene& a = *paths.a_scene;
  const ask::Scene& b = *paths.b_scene;
  std::string out;
  const auto add = [&](std::string_view label, const std::string& value) {
    out += style.paint(Tone::dim, fmt::format("  {:<14}", label)) + value + "\n";
  };
  add("they part at", place_text(*paths.a.session, a.who, a.address, a.time));
  // Of two builds, of which less is compared.
  if (function_of(paths.a, a) != function_of(paths.b, b)) {
    add("B at", place_text(*paths.b.session, b.who, b.address, b.time));
  }
  add("A", fmt::format("{}  {}", to_string(a.moment), way_text(paths.a, a)));
  add("B", fmt::format("{}  {}", to_string(b.moment), way_text(paths.b, b)));
  add("meet again", meeting_text(c));
  out += "\n  open calls\n";
  SceneView view(*paths.a.session, a, 1);
  return out + calls_of_scene(view, style);
}

std::string partings_table(const ComparedPaths& paths, std::span<const ask::Parting> partings,
                           const Style& style) {
  constexpr std::size_t kMost = 10;
  const std::size_t count = partings.size();
  Table table({{.title = "A"},
               {.title = "B"},
               {.title = "part in", .tone = Tone::name, .shrinks = true, .cut = Cut::name},
               {.title = "line", .shrinks = true, .cut = Cut::beginning},
               {.title = "A meets"},
               {.title = "B meets"}});
  const auto meets = [](const std::optional<ask::Moment>& m) { return m ? to_string(*m) : "-"; };
  for (const ask::Parting* p : some_partings(partings, kMost)) {
    if (p == &partings.back() && count > kMost) {
      table.add({fmt::format("({} more)", grouped(count - kMost))});
    }
    PartingPlace at = parting_place(paths, *p);
    table.add({to_string(p->a), to_string(p->b), std::move(at.function), std::move(at.line),
               meets(p->a_meet), meets(p->b_meet)});
  }
  return table.render(style);
}

std::string partings_text(const ComparedPaths& paths, const Style& style) {
  const ask::Comparison& c = paths.comparison;
  const auto further = std::span(c.partings).subspan(1);
  return fmt::format("\n  and {}{} more parting{}\n", c.more ? "at least " : "",
                     grouped(further.size()), further.size() == 1 ? "" : "s") +
         partings_table(paths, further, style);
}

std::string path_text(const ComparedPaths& paths, const Style& style) {
  const ask::Comparison& c = paths.comparison;
  std::string out = style.paint(Tone::title, fmt::format("{} | {}", printable(paths.a_name),
                                                         printable(paths.b_name))) +
                    "\n";
  if (c.equal) {
    return out + fmt::format("  the same path: {} branch{}\n", grouped(c.common),
                             c.common == 1 ? "" : "es");
  }
  out += "  " + alike_text(c) + "\n";
  if (c.lost) out += style.paint(Tone::bad, "  a part of a path was lost\n");
  if (!c.partings.empty()) out += parting_text(paths, style);
  if (c.partings.size() > 1) out += partings_text(paths, style);
  if (!c.waits.empty()) {
    out += "\n  " + waits_text(c) + "\n" + partings_table(paths, c.waits, style);
  }
  if (c.more) out += "  what follows was not compared branch by branch\n";
  return out;
}

Json executed_json(const ask::Executed& what) {
  Json out{{"kind", ask::name(what.kind)}, {"module", what.module}};
  if (what.kind == ask::Executed::Kind::function) {
    out["function"] = symbol::demangle(what.name);
    if (!what.source.empty()) out["file"] = what.source;
    if (what.nth != 0) out["number"] = what.nth + 1;
  } else {
    out["file"] = what.name;
    out["line"] = what.line;
    if (what.kind != ask::Executed::Kind::line) out["branch"] = what.nth + 1;
  }
  return out;
}

std::string counts_text(const DiffView& diff, bool only_one, const Style& style) {
  Table table({{.title = "A", .align = Align::right},
               {.title = "B", .align = Align::right},
               {.title = "what", .tone = Tone::name, .shrinks = true, .cut = Cut::name},
               {.title = "module", .tone = Tone::dim, .shrinks = true}});
  std::size_t count = 0;
  for (const ask::Difference& d : diff.differences) {
    if ((d.a == 0 || d.b == 0) != only_one) continue;
    if (count++ >= diff.top && diff.top != 0) continue;
    table.add({grouped(d.a), grouped(d.b), executed_text(d.what), printable(d.what.module)});
  }
  if (count == 0) return "";
  std::string out =
      style.paint(Tone::title, only_one ? "\nOnly one of them executed" : "\nNot equally often") +
      "\n" + table.render(style);
  if (count > diff.top && diff.top != 0) {
    out += fmt::format("  and {} more; --top 0 lists all\n", grouped(count - diff.top));
  }
  return out;
}

Json place_json(session::Session& session, std::uint32_t space, std::uint64_t address,
                std::uint64_t time) {
  if (address == 0) return nullptr;
  const session::Place place = session.names().place(space, address, time);
  Json out{{"address", fmt::format("{:#x}", address)}};
  if (!place.symbol.empty()) out["function"] = place.symbol;
  if (!place.object.empty()) out["object"] = place.object;
  const auto frames = session::source_of(session.names().object(space, address, time));
  if (!frames.empty() && frames[0].line != 0) {
    out["file"] = frames[0].file;
    out["line"] = frames[0].line;
  }
  return out;
}

Json side_json(const ask::Side& side, const ask::Scene& scene,
               const std::optional<ask::Moment>& meet) {
  Json out{{"moment", to_string(scene.moment)},
           {"at", place_json(*side.session, scene.who.space, scene.address, scene.time)},
           {"way", way_text(side, scene)}};
  if (!scene.after.empty()) {
    const ask::Passed& next = scene.after.front();
    out["next"] = {
        {"kind", name(next.branch.kind)},
        {"from", place_json(*side.session, next.who.space, next.branch.from, next.branch.time)},
        {"to", place_json(*side.session, next.who.space, next.branch.to, next.branch.time)}};
  }
  Json calls = Json::array();
  for (const ask::OpenFrame& frame : scene.calls) calls.push_back(frame.name);
  out["calls"] = std::move(calls);
  out["meets"] = meet ? Json(to_string(*meet)) : Json(nullptr);
  return out;
}

Json partings_json(const ComparedPaths& paths, std::span<const ask::Parting> partings) {
  const auto side = [](const std::optional<ask::Moment>& m) {
    return m ? Json(to_string(*m)) : Json(nullptr);
  };
  Json out = Json::array();
  for (const ask::Parting& p : partings) {
    session::Session& session = *(p.at.in_b ? paths.b : paths.a).session;
    out.push_back({{"a", to_string(p.a)},
                   {"b", to_string(p.b)},
                   {"side", p.at.in_b ? "b" : "a"},
                   {"at", place_json(session, p.at.space, p.at.address, p.at.time)},
                   {"a_meets", side(p.a_meet)},
                   {"b_meets", side(p.b_meet)}});
  }
  return out;
}

}  // namespace

bool differs(const DiffView& diff) {
  return !diff.unpaired.empty() || !diff.differences.empty() ||
         std::ranges::any_of(diff.paths,
                             [](const ComparedPaths& p) { return !p.comparison.equal; });
}

std::string diff_text(const DiffView& diff, const Style& style) {
  std::string out;
  for (const std::string& note : diff.notes) out += style.paint(Tone::dim, printable(note)) + "\n";
  for (const ComparedPaths& paths : diff.paths) {
    if (!out.empty()) out += "\n";
    out += path_text(paths, style);
  }
  for (const std::string& thread : diff.unpaired) {
    out += fmt::format("\n{} has no counterpart\n", printable(thread));
  }
  out += counts_text(diff, true, style);
  out += counts_text(diff, false, style);
  if (!diff.complete && !differs(diff)) out += fmt::format("\n{}\n", kNoneInWhatWasCompared);
  return out;
}

Json diff_json(const DiffView& diff) {
  Json out{{"notes", diff.notes},
           {"complete", diff.complete},
           {"paths", Json::array()},
           {"unpaired", diff.unpaired}};
  for (const ComparedPaths& paths : diff.paths) {
    const ask::Comparison& c = paths.comparison;
    Json one{{"a", paths.a_name},
             {"b", paths.b_name},
             {"equal", c.equal},
             {"a_branches", c.a_branches},
             {"b_branches", c.b_branches},
             {"common", c.common},
             {"lost", c.lost},
             {"more", c.more}};
    if (paths.a_scene && paths.b_scene) {
      const ask::Parting& first = c.partings.front();
      one["first"] = {{"a", side_json(paths.a, *paths.a_scene, first.a_meet)},
                      {"b", side_json(paths.b, *paths.b_scene, first.b_meet)}};
    }
    one["partings"] = partings_json(paths, c.partings);
    one["waits"] = partings_json(paths, c.waits);
    out["paths"].push_back(std::move(one));
  }
  Json& differences = out["differences"] = Json::array();
  for (const ask::Difference& d : diff.differences) {
    if (diff.top != 0 && differences.size() == diff.top) break;
    Json one = executed_json(d.what);
    one["a"] = d.a;
    one["b"] = d.b;
    differences.push_back(std::move(one));
  }
  return out;
}

std::string suspects_text(std::span<const ask::Suspect> suspects, std::size_t failing,
                          std::size_t passing, std::size_t top, const Style& style) {
  Table table({{.title = "score", .align = Align::right},
               {.title = "failing", .align = Align::right},
               {.title = "passing", .align = Align::right},
               {.title = "what", .tone = Tone::name, .shrinks = true, .cut = Cut::name},
               {.title = "module", .tone = Tone::dim, .shrinks = true}});
  const std::size_t count = top == 0 ? suspects.size() : std::min(top, suspects.size());
  for (const ask::Suspect& s : suspects.first(count)) {
    table.add({fmt::format("{:.3f}", s.score), fmt::format("{}/{}", s.failing, failing),
               fmt::format("{}/{}", s.passing, passing), executed_text(s.what),
               printable(s.what.module)});
  }
  if (table.empty()) return "the failing runs executed nothing that all passing ones did not\n";
  std::string out = table.render(style);
  if (count < suspects.size()) {
    out += fmt::format("  and {} more; --top 0 lists all\n", grouped(suspects.size() - count));
  }
  return out;
}

Json suspects_json(std::span<const ask::Suspect> suspects, std::size_t top) {
  Json out{{"suspects", Json::array()}};
  for (const ask::Suspect& s : suspects) {
    if (top != 0 && out["suspects"].size() == top) break;
    Json one = executed_json(s.what);
    one["score"] = s.score;
    one["failing"] = s.failing;
    one["passing"] = s.passing;
    out["suspects"].push_back(std::move(one));
  }
  return out;
}

}  // namespace hodo::view
