#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "hodo/view/losses.h"
#include "hodo/view/moments.h"
#include "hodo/view/report.h"
#include "hodo/view/stats.h"
#include "hodo/view/table.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

constexpr std::size_t kMostTasks = 40;

std::string local_time(std::uint64_t nanoseconds) {
  auto seconds = static_cast<std::time_t>(nanoseconds / 1'000'000'000);
  std::tm fields{};
  if (localtime_r(&seconds, &fields) == nullptr) return "";
  char text[64];
  std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &fields);
  return std::string(text, size);
}

void append_title(std::string& out, const Style& style, std::string_view title) {
  out += "\n" + style.paint(Tone::title, title) + "\n";
}

std::string state_of(const Report& report, const session::Outcome& outcome, const Style& style) {
  if (!report.growing.empty()) {
    return style.paint(outcome.complete() ? Tone::good : Tone::bad,
                       report.growing + (outcome.complete() ? ", of which nothing was lost"
                                                            : ", incomplete, see Losses"));
  }
  if (outcome.complete() && report.snapshot) {
    return style.paint(Tone::good, "a snapshot, the newest part: nothing of that was lost");
  }
  if (outcome.complete()) return style.paint(Tone::good, "complete, nothing lost");
  if (!report.finished) return style.paint(Tone::bad, "the recorder did not finish this file");
  return style.paint(Tone::bad, "incomplete, see Losses");
}

std::string trace_size(const Report& report, const flow::Stats& stats) {
  std::uint64_t branches = taken_branches(stats) + stats.not_taken;
  if (branches == 0) return byte_size(report.trace_bytes);
  double each = 1000.0 * static_cast<double>(report.trace_bytes) / static_cast<double>(branches);
  return fmt::format("{}, {:.1f} bytes per 1000 branches", byte_size(report.trace_bytes), each);
}

std::string end_text(const EndLine& line) {
  if (line.end.signal == 0) return end_words(line.end);
  return end_words(line.end) + (line.place.empty() ? ", where is unknown" : " at " + line.place);
}

// How the command ended, and whoever a signal ended; the others are in JSON.
std::vector<std::string> end_texts(const std::vector<EndLine>& ends) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> out;
  std::size_t more = 0;
  for (const EndLine& line : ends) {
    if (line.end.command) {
      out.insert(out.begin(), end_text(line));
    } else if (line.end.exit_status < 0) {
      if (out.size() < kMost) {
        out.push_back(
            fmt::format("{} {}: {}", printable(line.end.comm), line.end.pid, end_text(line)));
      } else {
        ++more;
      }
    }
  }
  if (more != 0) out.push_back(fmt::format("and {} more; --json lists all", more));
  return out;
}

std::string head_text(const Report& report, const session::Outcome& outcome, const Style& style) {
  const flow::Stats& stats = outcome.stats;
  std::string out;
  // Not a table: values must neither be cut nor widen a column.
  auto add = [&](std::string_view label, const std::string& value) {
    if (value.empty()) return;
    out += style.paint(Tone::dim, fmt::format("{:<13}", label)) + value + "\n";
  };
  const auto add_ends = [&] {
    std::string_view label = "ended";
    for (const std::string& line : end_texts(report.ends)) add(std::exchange(label, ""), line);
  };
  const bool crashed =
      std::ranges::any_of(report.ends, [](const EndLine& line) { return line.end.signal != 0; });
  if (crashed) add_ends();
  add("file", printable(report.file));
  add("command", printable(report.command));
  add("host", printable(report.host));
  if (report.wall_clock_ns != 0) add("recorded", local_time(report.wall_clock_ns));
  if (report.duration_ns != 0) add("duration", duration(report.duration_ns));
  if (!crashed) add_ends();
  add("state", state_of(report, outcome, style));
  add("instructions", grouped(stats.instructions));
  std::uint64_t cond = stats.branches[static_cast<std::size_t>(BranchKind::cond)];
  add("branches",
      fmt::format("{} taken, {} not taken; {} of {} conditional ones taken",
                  grouped(taken_branches(stats)), grouped(stats.not_taken),
                  percent(cond, cond + stats.not_taken), grouped(cond + stats.not_taken)));
  add("trace", trace_size(report, stats));
  return out;
}

std::string kinds_text(const flow::Stats& stats) {
  std::string out;
  for (int k = 0; k < kBranchKinds; ++k) {
    std::uint64_t count = stats.branches[static_cast<std::size_t>(k)];
    if (count == 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "  " : ", ", name(static_cast<BranchKind>(k)),
                       grouped(count));
  }
  return out.empty() ? "  none\n" : out + "\n";
}

std::string tasks_text(const Report& report, const Style& style) {
  Table table({{.title = "process", .tone = Tone::name, .shrinks = true},
               {.title = "wall time", .align = Align::right},
               {.title = "instructions", .align = Align::right},
               {.title = "branches", .align = Align::right}});
  std::size_t shown = std::min(report.tasks.size(), kMostTasks);
  for (const analyze::TaskLine& task : std::span(report.tasks).first(shown)) {
    std::string label(2 * std::min<std::size_t>(task.depth, 16), ' ');
    label += fmt::format("{} {}", printable(task.comm), task.thread ? "thread " : "");
    label += std::to_string(task.thread ? task.tid : task.pid);
    table.add({label, task.wall_ns == 0 ? "-" : duration(task.wall_ns),
               grouped(task.totals.instructions), grouped(task.totals.branches)});
  }
  std::string out = table.render(style);
  if (shown < report.tasks.size()) {
    out += fmt::format("  and {} more; --json lists all\n", report.tasks.size() - shown);
  }
  return out;
}

std::string functions_text(std::span<const HotFunction> functions, std::uint64_t instructions,
                           std::size_t top, const Style& style) {
  Table table({{.title = "instructions", .align = Align::right},
               {.title = "share", .align = Align::right},
               {.title = "calls", .align = Align::right},
               {.title = "function", .tone = Tone::name, .shrinks = true, .cut = Cut::name},
               {.title = "object", .tone = Tone::dim, .shrinks = true},
               {.tone = Tone::dim}});
  for (const HotFunction& f : functions.first(std::min(top, functions.size()))) {
    table.add({grouped(f.instructions), percent(f.instructions, instructions), grouped(f.calls),
               f.name, f.object, f.source});
  }
  return table.render(style);
}

std::string calls_text(std::vector<HotFunction> functions, std::size_t top, const Style& style) {
  std::erase_if(functions, [](const HotFunction& f) { return f.calls == 0; });
  std::ranges::stable_sort(functions, std::ranges::greater(), &HotFunction::calls);
  Table table({{.title = "calls", .align = Align::right},
               {.title = "instructions", .align = Align::right},
               {.title = "function", .tone = Tone::name, .shrinks = true, .cut = Cut::name},
               {.title = "object", .tone = Tone::dim, .shrinks = true},
               {.tone = Tone::dim}});
  for (const HotFunction& f : std::span(functions).first(std::min(top, functions.size()))) {
    table.add({grouped(f.calls), grouped(f.instructions), f.name, f.object, f.source});
  }
  return table.empty() ? "  none\n" : table.render(style);
}

std::string edges_text(const Report& report, const Style& style) {
  Table table({{.title = "count", .align = Align::right},
               {.title = "kind"},
               {.title = "from", .tone = Tone::name, .shrinks = true, .cut = Cut::name},
               {.title = "to", .tone = Tone::name, .shrinks = true, .cut = Cut::name}});
  for (const HotEdge& e : report.edges) {
    table.add({grouped(e.count), std::string(name(e.kind)), e.from, e.to});
  }
  return table.render(style);
}

}  // namespace

std::string report_text(const Report& report, const session::Session& session,
                        const session::Outcome& outcome, std::size_t top, const Style& style) {
  std::string out = head_text(report, outcome, style);
  if (!report.tasks.empty()) {
    append_title(out, style, "Processes and threads");
    out += tasks_text(report, style);
  }
  append_title(out, style, "Branches by kind");
  out += kinds_text(outcome.stats);
  if (!report.functions.empty()) {
    append_title(out, style, "Hottest functions");
    out += functions_text(report.functions, outcome.stats.instructions, top, style);
    append_title(out, style, "Most called functions");
    out += calls_text(report.functions, top, style);
    append_title(out, style, "Hottest branches");
    out += edges_text(report, style);
  }
  if (report.dropped_edges != 0) {
    out += fmt::format("  {} branches of rare kinds are not in these tables\n",
                       grouped(report.dropped_edges));
  }
  append_title(out, style, "Losses");
  return out + losses_text(outcome.losses, session.clock(), style);
}

}  // namespace hodo::view
