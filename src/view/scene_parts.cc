// The parts of a scene, for people.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "hodo/base/last_component.h"
#include "hodo/view/moments.h"
#include "hodo/view/place.h"
#include "hodo/view/source_text.h"
#include "hodo/view/table.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

constexpr std::size_t kMostCalls = 64;

std::string place_of(SceneView& view, const session::Context& who, std::uint64_t address,
                     std::uint64_t time) {
  const session::Place place = view.session.names().place(who.space, address, time);
  if (place.symbol.empty()) return function_name(address, place);
  return fmt::format("{}+{:#x}", function_name(address, place), place.offset);
}

std::string line_text(SceneView& view, const ask::SourceLines::Line& line) {
  if (line.line == 0) return "";
  return fmt::format("{}:{}", printable(last_component(view.lines_of.path(line))), line.line);
}

}  // namespace

// An address of 0 is also how a branch says that none is known: but where nothing is traced, an
// exception at that address is not in the trace either.
std::string nowhere_text(const ask::Scene& scene) {
  std::vector<Branch> near;
  near.reserve(scene.before.size() + 1);
  for (const ask::Passed& passed : scene.before) near.push_back(passed.branch);
  if (!scene.after.empty()) near.push_back(scene.after.front().branch);
  const bool passed_end = near.size() > 1 && !scene.before.empty() &&
                          scene.before.back().branch.kind == BranchKind::end;
  if (passed_end && !scene.after.empty()) near.pop_back();
  if (near.size() < 2) return "nowhere: the path is not traced here";
  const Branch& sent = near[near.size() - 2];
  const Branch& failed = near.back();
  const bool was_sent =
      sent.to == 0 && sent.kind < BranchKind::begin && (sent.flags & kTraceEnd) == 0;
  const bool has_failed =
      failed.kind == BranchKind::end && failed.from == 0 && (failed.flags & kAsync) != 0;
  return was_sent && has_failed ? "0, where there is no code"
                                : "nowhere: the path is not traced here";
}

// The innermost first; where a compiler has inlined, one line for each function.
std::string calls_of_scene(SceneView& view, const Style& style) {
  Table table({{.title = "#", .align = Align::right, .tone = Tone::dim},
               {.title = "function", .tone = Tone::name, .shrinks = true, .cut = Cut::name},
               {.title = "at", .shrinks = true, .cut = Cut::beginning},
               {.title = "object", .tone = Tone::dim, .shrinks = true},
               {.title = "entered at"},
               {.title = "instructions since", .align = Align::right}});
  const std::size_t count = view.scene.calls.size();
  const auto [inner, outer] = shown_calls(count, kMostCalls);
  for (std::size_t number = 0; number < count; ++number) {
    if (number == inner) {
      table.add({"..", ".."});
      number = outer;
    }
    const ask::OpenFrame& frame = view.scene.calls[number];
    const auto object = view.session.names().object(view.scene.who.space, frame.at, frame.at_time);
    const auto sources =
        frame.at == 0 ? std::vector<symbol::SourceFrame>{} : session::source_of(object);
    for (const symbol::SourceFrame& source : sources) {
      if (!source.inlined) break;
      table.add({std::to_string(number), printable(source.function),
                 fmt::format("{}:{}", printable(last_component(source.file)), source.line),
                 "(inlined)"});
    }
    std::string where;
    if (!sources.empty() && sources.back().line != 0) {
      where =
          fmt::format("{}:{}", printable(last_component(sources.back().file)), sources.back().line);
    }
    if (where.empty()) where = place_of(view, view.scene.who, frame.at, frame.at_time);
    const bool known = frame.how != analyze::CallEntry::first;
    table.add({std::to_string(number), printable(frame.name), where,
               printable(last_component(frame.object)),
               known ? ask::to_string(frame.entered) : "not in the trace",
               grouped(frame.instructions)});
  }
  std::string out = table.render(style);
  if (outer != inner)
    out += fmt::format("  {} calls between are left out\n", grouped(outer - inner));
  if (view.scene.calls.empty()) out = "  none are known\n";
  if (view.scene.last_loss != 0) {
    out += style.paint(Tone::bad,
                       fmt::format("  the path was lost before branch {}: calls from before are not"
                                   " known\n",
                                   view.scene.last_loss));
  }
  return out;
}

std::string instructions_of_scene(SceneView& view, const Style& style) {
  const auto there =
      std::ranges::lower_bound(view.steps, view.scene.moment, {}, &ask::Step::moment);
  const auto here = static_cast<std::size_t>(there - view.steps.begin());
  const std::size_t first = here - std::min(here, view.around);
  const std::size_t last = std::min(view.steps.size(), here + view.around + 1);
  Table table({{.title = ""},
               {.title = "moment"},
               {.title = "place", .tone = Tone::name, .shrinks = true, .cut = Cut::name},
               {.title = "instruction", .shrinks = true, .cut = Cut::name},
               {.title = "line", .tone = Tone::dim}});
  for (std::size_t i = first; i < last; ++i) {
    const ask::Step& step = view.steps[i];
    const std::string_view note = step.executed ? ""
                                  : step.lost   ? "  (the path is lost here)"
                                                : "  (not executed)";
    table.add(
        {step.moment == view.scene.moment ? ">" : "", ask::to_string(step.moment),
         place_of(view, step.who, step.address, step.time),
         printable(view.code.disassemble(step.who.space, step.address, step.time)).append(note),
         line_text(view, view.lines_of.at(step.who.space, step.address, step.time))});
  }
  if (table.empty()) return "  no instructions are known here\n";
  return table.render(style);
}

// The source lines that were executed last, the newest last.
std::string lines_of_scene(SceneView& view, const Style& style) {
  struct Ran {
    ask::SourceLines::Line line;
    ask::Moment moment;
  };
  std::vector<Ran> ran;
  for (const ask::Step& step : view.steps) {
    if (view.scene.moment < step.moment) break;
    const auto line = view.lines_of.at(step.who.space, step.address, step.time);
    if (line.line == 0 || (!ran.empty() && ran.back().line == line)) continue;
    ran.push_back({line, step.moment});
  }
  if (ran.empty()) return "  no source lines are known here\n";
  const std::size_t first = ran.size() - std::min(ran.size(), view.around);
  Table table({{.title = "moment"},
               {.title = "line", .tone = Tone::dim},
               {.title = "source", .shrinks = true}});
  for (std::size_t i = first; i < ran.size(); ++i) {
    const auto text_of =
        read_source(view.lines_of.path(ran[i].line), ran[i].line.line, ran[i].line.line);
    table.add({ask::to_string(ran[i].moment), line_text(view, ran[i].line),
               text_of.empty() ? "" : text_of.begin()->second});
  }
  return table.render(style);
}

std::string branches_of_scene(SceneView& view, const Style& style) {
  Table table({{.title = "number", .align = Align::right},
               {.title = "kind"},
               {.title = "from", .shrinks = true, .cut = Cut::name},
               {.title = "to", .shrinks = true, .cut = Cut::name},
               {.title = "instructions", .align = Align::right},
               {.title = "line", .tone = Tone::dim}});
  const auto add = [&](const ask::Passed& passed, std::uint64_t number) {
    const Branch& b = passed.branch;
    const auto side = [&](std::uint64_t address) {
      return address == 0 ? std::string("-") : place_of(view, passed.who, address, b.time);
    };
    const auto line =
        b.from == 0 ? ask::SourceLines::Line{} : view.lines_of.at(passed.who.space, b.from, b.time);
    table.add({std::to_string(number), std::string(name(b.kind)), side(b.from), side(b.to),
               std::to_string(b.insns), line_text(view, line)});
  };
  const auto& before = view.scene.before;
  const std::size_t first = before.size() - std::min(before.size(), view.around);
  for (std::size_t i = first; i < before.size(); ++i) {
    add(before[i], view.scene.moment.branch + 1 + i - before.size());
  }
  table.add({"", ">"});
  for (std::size_t i = 0; i < std::min(view.scene.after.size(), view.around); ++i) {
    add(view.scene.after[i], view.scene.moment.branch + 1 + i);
  }
  std::string out = table.render(style);
  if (view.scene.ends && view.scene.after.size() <= view.around) {
    out += "  the thread's path ends here\n";
  }
  return out;
}

// Source around the moment: '*' before the lines that ran near it.
std::string source_of_scene(SceneView& view, const Style& style) {
  if (view.scene.address == 0) return "";
  const auto here = view.lines_of.at(view.scene.who.space, view.scene.address, view.scene.time);
  if (here.line == 0) return "";
  const auto reach = static_cast<std::uint32_t>(std::min<std::size_t>(view.around, 1000));
  const std::uint32_t first = here.line - std::min(here.line - 1, reach);
  const auto lines = read_source(view.lines_of.path(here), first, here.line + reach);
  if (lines.empty()) {
    return fmt::format("  {}\n", absent_text(view.lines_of.path(here)));
  }
  std::set<std::uint32_t> ran;
  for (const ask::Step& step : view.steps) {
    const auto line = view.lines_of.at(step.who.space, step.address, step.time);
    if (step.executed && line.file == here.file) ran.insert(line.line);
  }
  const std::string newer = newer_text(
      view.lines_of.path(here),
      view.session.names().object(view.scene.who.space, view.scene.address, view.scene.time));
  std::string out;
  if (!newer.empty()) out += fmt::format("  {}\n", newer);
  for (const auto& [number, text_of] : lines) {
    const bool now = number == here.line;
    std::string line = fmt::format("  {}{} {:>5}  {}", now ? '>' : ' ',
                                   ran.contains(number) ? '*' : ' ', number, text_of);
    line.erase(line.find_last_not_of(' ') + 1);
    out += (now ? style.paint(Tone::title, line) : line) + "\n";
  }
  return out;
}

namespace {

std::string fault_words(const session::Fault& fault, int signal) {
  using Access = session::Fault::Access;
  const char* const what = fault.access == Access::read    ? "reading"
                           : fault.access == Access::write ? "writing"
                                                           : "executing";
  const char* const why = !fault.mapped      ? "nothing is mapped there"
                          : signal == SIGBUS ? "no memory is behind that mapping"
                                             : "it may not";
  return fmt::format(", {} {:#x}: {}", what, fault.address, why);
}

}  // namespace

std::string end_words(const session::ProcessEnd& end) {
  if (end.exit_status >= 0) return fmt::format("exit status {}", end.exit_status);
  if (end.signal == 0) return "unknown: killed from outside, as by SIGKILL";
  const char* name = sigabbrev_np(end.signal);
  std::string out = name != nullptr ? fmt::format("killed by SIG{} (signal {})", name, end.signal)
                                    : fmt::format("killed by signal {}", end.signal);
  if (end.tid != 0) out += fmt::format(" in thread {}", end.tid);
  if (end.fault) out += fault_words(*end.fault, end.signal);
  return out;
}

}  // namespace hodo::view
