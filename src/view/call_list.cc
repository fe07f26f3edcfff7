// Every call of a function.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hodo/base/last_component.h"
#include "hodo/view/growing.h"
#include "hodo/view/losses.h"
#include "hodo/view/moments.h"
#include "hodo/view/place.h"
#include "hodo/view/table.h"
#include "hodo/view/text.h"
#include "json_line.h"

namespace hodo::view {
namespace {

using ask::CallRow;

std::string site_line(session::Session& session, const ask::CallList& list, const CallRow& row) {
  if (row.site == 0) return "";
  auto frames = session::source_of(session.names().object(row.space, row.site, row.ticks));
  if (row.inlined) {
    // At its entry the call is one of those that were inlined there.
    const auto call = std::ranges::find(frames, list.functions[row.function].name,
                                        &symbol::SourceFrame::function);
    frames.erase(frames.begin(), call == frames.end() ? call : call + 1);
  }
  return source_line(frames);
}

std::string outcome(const CallRow& row) {
  return std::string(ask::name(row.outcome)) + (row.inlined ? ", inlined" : "");
}

}  // namespace

void write_call_list(const ask::CallList& list, session::Session& session, const Style& style,
                     Output& out) {
  for (const std::uint32_t f : list.meant) {
    out.write(style.paint(Tone::name, printable(list.functions[f].name)));
    out.write(style.paint(
        Tone::dim, fmt::format(" ({})\n", printable(last_component(list.functions[f].object)))));
  }
  const bool several = list.meant.size() > 1;
  std::vector<Column> columns{
      {.title = "#", .align = Align::right, .tone = Tone::dim},
      {.title = "moment"},
      {.title = "time"},
      {.title = "duration", .align = Align::right},
      {.title = "instructions", .align = Align::right},
      {.title = "caller", .tone = Tone::name, .shrinks = true, .cut = Cut::name},
      {.title = "called at", .tone = Tone::dim, .shrinks = true, .cut = Cut::name},
      {.title = "outcome"}};
  if (several)
    columns.push_back({.title = "function", .tone = Tone::name, .shrinks = true, .cut = Cut::name});
  Table table(columns);
  for (const CallRow& row : list.rows) {
    const std::string caller =
        row.caller == ask::kNobody ? "" : printable(list.functions[row.caller].name);
    table.add({std::to_string(row.number), to_string(row.at),
               row.time == 0 ? "-" : seconds(row.time),
               row.time == 0 ? "-" : duration(row.duration), grouped(row.instructions), caller,
               site_line(session, list, row), outcome(row),
               printable(list.functions[row.function].name)});
  }
  table.write(style, out);
  out.write(fmt::format("\n{} calls", grouped(list.calls)));
  if (list.rows.size() < list.calls) {
    out.write(fmt::format(", {} shown", grouped(list.rows.size())));
  }
  if (list.longest != 0) {
    out.write(fmt::format("; the longest took {}, all together {}", duration(list.longest),
                          duration(list.total_time)));
  }
  out.write("\n");
  if (!list.unknown.empty()) out.write(printable(list.unknown) + "\n");
}

namespace {

// All but its rows and what was lost.
nlohmann::ordered_json head_json(const ask::CallList& list) {
  nlohmann::ordered_json out{{"functions", nlohmann::ordered_json::array()}};
  for (const std::uint32_t f : list.meant) {
    out["functions"].push_back(
        {{"name", list.functions[f].name}, {"object", list.functions[f].object}});
  }
  out["count"] = list.calls;
  out["left_out"] = list.left_out;
  out["total_time"] = list.total_time;
  if (!list.unknown.empty()) out["unknown"] = list.unknown;
  return out;
}

nlohmann::ordered_json row_json(const ask::CallList& list, session::Session& session,
                                const CallRow& row) {
  using Json = nlohmann::ordered_json;
  Json call{{"number", row.number},
            {"moment", to_string(row.at)},
            {"until", to_string(row.until)},
            {"pid", row.pid},
            {"time", row.time == 0 ? Json(nullptr) : Json(row.time)},
            {"duration", row.time == 0 ? Json(nullptr) : Json(row.duration)},
            {"instructions", row.instructions},
            {"function", list.functions[row.function].name},
            {"outcome", ask::name(row.outcome)}};
  if (row.inlined) call["inlined"] = true;
  if (row.caller != ask::kNobody) call["caller"] = list.functions[row.caller].name;
  if (row.site != 0) call["site"] = fmt::format("{:#x}", row.site);
  if (const std::string line = site_line(session, list, row); !line.empty()) call["line"] = line;
  return call;
}

}  // namespace

nlohmann::ordered_json call_list_json(const ask::CallList& list, session::Session& session) {
  auto out = head_json(list);
  auto& calls = out["calls"] = nlohmann::ordered_json::array();
  for (const CallRow& row : list.rows) {
    calls.push_back(row_json(list, session, row));
  }
  out["losses"] = losses_json(list.outcome.losses, session.clock());
  add_growing(out, session);
  return out;
}

void write_call_list_json(const ask::CallList& list, session::Session& session, Output& out) {
  std::string text = json_line(head_json(list));
  text.back() = ',';
  out.write(text + "\n\"calls\": [");
  bool first = true;
  for (const CallRow& row : list.rows) {
    if (!out.ok()) return;
    out.write((first ? "\n  " : ",\n  ") + json_line(row_json(list, session, row)));
    first = false;
  }
  nlohmann::ordered_json rest{{"losses", losses_json(list.outcome.losses, session.clock())}};
  add_growing(rest, session);
  text = json_line(rest);
  text.front() = ',';
  out.write("\n]" + text + "\n");
}

}  // namespace hodo::view
