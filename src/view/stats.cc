#include "hodo/view/stats.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "hodo/view/growing.h"
#include "hodo/view/losses.h"
#include "hodo/view/table.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFirstMark = static_cast<int>(BranchKind::begin);  // begin, end, lost are no branches

template <class Counts>
std::uint64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// "per thousand branches": what the trace costs.
std::string per_thousand(std::uint64_t bytes, std::uint64_t branches) {
  if (branches == 0) return "-";
  double value = 1000.0 * static_cast<double>(bytes) / static_cast<double>(branches);
  return fmt::format("{:.1f} B per 1000 branches", value);
}

void begin_part(std::string& out, const Style& style, std::string_view title) {
  if (!out.empty()) out += '\n';
  out += style.paint(Tone::title, title) + "\n";
}

Table two_columns(std::string what) {
  return Table({{.title = std::move(what)}, {.title = "count", .align = Align::right}, {}});
}

std::string branches_text(const flow::Stats& stats, const Style& style) {
  Table table = two_columns("kind");
  std::uint64_t all = taken_branches(stats) + stats.not_taken;
  for (int k = 0; k < kBranchKinds; ++k) {
    std::uint64_t count = stats.branches[static_cast<std::size_t>(k)];
    bool mark = k >= kFirstMark;
    if (count == 0 && mark) continue;
    bool cond = k == static_cast<int>(BranchKind::cond);
    std::string label(name(static_cast<BranchKind>(k)));
    if (cond) {
      table.add({"cond taken", grouped(count), percent(count, all)});
      table.add({"cond not taken", grouped(stats.not_taken), percent(stats.not_taken, all)});
    } else if (count != 0) {
      table.add({label, grouped(count), mark ? "" : percent(count, all)});
    }
  }
  return table.render(style);
}

std::string events_text(const flow::Stats& stats, const Style& style) {
  Table table = two_columns("event");
  for (int e = 0; e < flow::kEventKinds; ++e) {
    std::uint64_t count = stats.events[static_cast<std::size_t>(e)];
    if (count != 0) table.add({std::string(name(static_cast<flow::EventKind>(e))), grouped(count)});
  }
  return table.render(style);
}

Json queue_json(const session::Queue& queue, const flow::Stats& stats) {
  Json out;
  if (queue.pid >= 0) out["pid"] = queue.pid;
  if (queue.tid >= 0) out["tid"] = queue.tid;
  if (queue.cpu >= 0) out["cpu"] = queue.cpu;
  out["bytes"] = queue.bytes;
  out["instructions"] = stats.instructions;
  out["branches_taken"] = taken_branches(stats);
  out["losses"] = stats.total_losses();
  return out;
}

Json branches_json(const flow::Stats& stats) {
  Json kinds;
  for (int k = 0; k < kBranchKinds; ++k) {
    kinds[std::string(name(static_cast<BranchKind>(k)))] =
        stats.branches[static_cast<std::size_t>(k)];
  }
  return {{"taken", taken_branches(stats)},
          {"not_taken", stats.not_taken},
          {"wrong_path", stats.wrong_path},
          {"kinds", kinds}};
}

Json packets_json(const flow::Stats& stats) {
  Json kinds = Json::object();
  for (int p = 0; p < pt::kPacketTypes; ++p) {
    auto i = static_cast<std::size_t>(p);
    if (stats.packets[i] == 0) continue;
    kinds[std::string(name(static_cast<pt::PacketType>(p)))] = {{"count", stats.packets[i]},
                                                                {"bytes", stats.packet_bytes[i]}};
  }
  return {{"count", sum(stats.packets)}, {"tnt_bits", stats.tnt_bits}, {"kinds", kinds}};
}

Json events_json(const flow::Stats& stats) {
  Json out = Json::object();
  for (int e = 0; e < flow::kEventKinds; ++e) {
    std::uint64_t count = stats.events[static_cast<std::size_t>(e)];
    if (count != 0) out[std::string(name(static_cast<flow::EventKind>(e)))] = count;
  }
  return out;
}

}  // namespace

std::uint64_t taken_branches(const flow::Stats& stats) {
  return std::accumulate(stats.branches.begin(), stats.branches.begin() + kFirstMark,
                         std::uint64_t{0});
}

std::string packet_counts_text(const flow::Stats& stats, const Style& style) {
  Table table({{.title = "packet"},
               {.title = "count", .align = Align::right},
               {.title = "bytes", .align = Align::right},
               {.title = "of bytes", .align = Align::right}});
  std::uint64_t bytes = sum(stats.packet_bytes);
  for (int p = 0; p < pt::kPacketTypes; ++p) {
    auto i = static_cast<std::size_t>(p);
    if (stats.packets[i] == 0) continue;
    table.add({std::string(name(static_cast<pt::PacketType>(p))), grouped(stats.packets[i]),
               grouped(stats.packet_bytes[i]), percent(stats.packet_bytes[i], bytes)});
  }
  table.add({"all", grouped(sum(stats.packets)), grouped(bytes), ""});
  return table.render(style);
}

std::string stats_text(const session::Session& session, const session::Outcome& outcome,
                       const Style& style) {
  const flow::Stats& stats = outcome.stats;
  std::uint64_t branches = taken_branches(stats) + stats.not_taken;
  std::string out;
  begin_part(out, style, "Trace");
  Table totals({{}, {.align = Align::right}, {}});
  totals.add({"queues", grouped(session.queues().size())});
  totals.add({"bytes", grouped(stats.bytes), per_thousand(stats.bytes, branches)});
  if (stats.skipped_bytes != 0) {
    totals.add({"bytes not decoded", grouped(stats.skipped_bytes),
                percent(stats.skipped_bytes, stats.bytes)});
  }
  totals.add({"instructions", grouped(stats.instructions)});
  totals.add({"branches", grouped(branches), "taken or not"});
  if (stats.wrong_path != 0) {
    totals.add({"left out", grouped(stats.wrong_path), "recorded, but of a wrong path"});
  }
  out += totals.render(style);
  begin_part(out, style, "Branches");
  out += branches_text(stats, style);
  if (sum(stats.packets) != 0) {
    begin_part(out, style, "Packets");
    out += packet_counts_text(stats, style);
  }
  if (sum(stats.events) != 0) {
    begin_part(out, style, "Events");
    out += events_text(stats, style);
  }
  begin_part(out, style, "Losses");
  return out + losses_text(outcome.losses, session.clock(), style);
}

Json stats_json(const session::Session& session, const session::Outcome& outcome) {
  const flow::Stats& stats = outcome.stats;
  Json queues = Json::array();
  for (std::size_t i = 0; i < session.queues().size(); ++i) {
    queues.push_back(queue_json(session.queues()[i], outcome.queue_stats[i]));
  }
  Json out{{"file", session.path()},
           {"complete", outcome.complete()},
           {"bytes", stats.bytes},
           {"skipped_bytes", stats.skipped_bytes},
           {"instructions", stats.instructions},
           {"branches", branches_json(stats)},
           {"packets", packets_json(stats)},
           {"events", events_json(stats)},
           {"losses", losses_json(outcome.losses, session.clock())},
           {"queues", queues}};
  add_growing(out, session);
  return out;
}

}  // namespace hodo::view
