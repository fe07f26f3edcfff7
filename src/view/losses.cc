#include "hodo/view/losses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hodo/view/json_dump.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

using Json = nlohmann::ordered_json;

// In parentheses; empty if no place is known.
std::string place_of(const session::LossSite& site, session::Clock& clock) {
  std::vector<std::string> parts;
  if (site.who.tid >= 0) {
    parts.push_back(fmt::format("thread {}", site.who.tid));
  } else if (site.who.cpu >= 0) {
    parts.push_back(fmt::format("cpu {}", site.who.cpu));
  }
  if (site.offset) parts.push_back(fmt::format("byte {:#x}", *site.offset));
  if (site.ip != 0) parts.push_back(fmt::format("at {:#x}", site.ip));
  if (site.last_ip != 0 && site.last_ip != site.ip) {
    parts.push_back(fmt::format("last known {:#x}", site.last_ip));
  }
  if (site.time != 0 && clock.known()) {
    parts.push_back("time " + seconds(clock.nanoseconds(site.time)));
  }
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

Json site_json(const session::LossSite& site, session::Clock& clock) {
  Json out;
  out["queue"] = site.who.queue;
  if (site.who.pid >= 0) out["pid"] = site.who.pid;
  if (site.who.tid >= 0) out["tid"] = site.who.tid;
  if (site.who.cpu >= 0) out["cpu"] = site.who.cpu;
  if (site.offset) out["offset"] = *site.offset;
  if (site.ip != 0) out["ip"] = fmt::format("{:#x}", site.ip);
  if (site.last_ip != 0) out["last_ip"] = fmt::format("{:#x}", site.last_ip);
  if (site.time != 0) out["time"] = clock.nanoseconds(site.time);
  out["reason"] = site.reason;
  return out;
}

}  // namespace

std::string losses_text(std::span<const session::LossLine> losses, session::Clock clock,
                        const Style& style) {
  if (losses.empty()) return "  " + style.paint(Tone::good, "Nothing was lost.") + "\n";
  std::string out;
  for (const session::LossLine& line : losses) {
    out += fmt::format("  {} {}", style.paint(Tone::bad, printable(line.cause)),
                       line.count == 1 ? "once" : grouped(line.count) + " times");
    if (line.bytes != 0) out += fmt::format(", {} not decoded", byte_size(line.bytes));
    out += '\n';
    if (!line.sites.empty()) {
      const session::LossSite& first = line.sites.front();
      out += fmt::format("    first: {}{}\n", printable(first.reason), place_of(first, clock));
    }
    if (!line.remedy.empty()) out += fmt::format("    {}\n", line.remedy);
  }
  return out;
}

Json losses_json(std::span<const session::LossLine> losses, session::Clock clock) {
  Json out = Json::array();
  for (const session::LossLine& line : losses) {
    Json sites = Json::array();
    for (const session::LossSite& site : line.sites) sites.push_back(site_json(site, clock));
    out.push_back({{"cause", line.cause},
                   {"count", line.count},
                   {"bytes", line.bytes},
                   {"remedy", line.remedy},
                   {"sites", std::move(sites)}});
  }
  return out;
}

std::string json_text(const Json& value) { return json_dump(value, 2) + "\n"; }

}  // namespace hodo::view
