#include <fmt/format.h>

#include <algorithm>

#include "hodo/view/findings.h"
#include "hodo/view/losses.h"
#include "hodo/view/place.h"
#include "hodo/view/task_name.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

std::string place_of(const session::Session& session, const check::Finding& finding,
                     std::uint64_t address, std::uint64_t time, const Style& style) {
  if (address == 0) return "-";
  return describe(address, session.names().place(finding.who.space, address, time), style);
}

// " at victim.c:12"; empty without DWARF.
std::string source_place(const session::Session& session, const check::Finding& finding,
                         std::uint64_t address) {
  const session::Object object =
      session.names().object(finding.who.space, address, finding.branch.time);
  const auto frames = address == 0 ? std::vector<symbol::SourceFrame>() : source_of(object);
  if (frames.empty() || frames[0].file.empty()) return "";
  return fmt::format(" at {}:{}", printable(frames[0].file), frames[0].line);
}

std::string branch_line(const session::Session& session, const check::Finding& finding,
                        const Branch& branch, bool itself, const Style& style) {
  std::string line = fmt::format("  {} {:<7} {} => {}", itself ? ">" : " ", name(branch.kind),
                                 place_of(session, finding, branch.from, branch.time, style),
                                 place_of(session, finding, branch.to, branch.time, style));
  return (itself ? style.paint(Tone::bad, line) : line) + "\n";
}

std::string evidence(const session::Session& session, const check::Finding& finding,
                     const Style& style) {
  std::string out;
  for (const Branch& b : finding.before) out += branch_line(session, finding, b, false, style);
  out += branch_line(session, finding, finding.branch, true, {});
  for (const Branch& b : finding.after) out += branch_line(session, finding, b, false, style);
  return out;
}

std::string grade_of(const check::Finding& finding) {
  return std::string(name(finding.grade)) + (finding.is_doubtful() ? ", doubtful" : "");
}

std::string who_text(const session::Session& session, const check::Finding& finding) {
  session::Clock clock = session.clock();
  std::string out =
      fmt::format("process {} ({}), thread {}", finding.who.pid,
                  printable(task_name(session, finding.who.pid, finding.who.tid)), finding.who.tid);
  if (finding.branch.time != 0 && clock.known()) {
    out += fmt::format(", time {}", seconds(clock.nanoseconds(finding.branch.time)));
  }
  return out;
}

std::string summary(const Checked& checked, const Style& style) {
  const std::size_t count = checked.findings.size();
  std::string found = count == 0   ? style.paint(Tone::good, "no finding")
                      : count == 1 ? style.paint(Tone::bad, "1 finding")
                                   : style.paint(Tone::bad, grouped(count) + " findings");
  const auto doubtful = std::ranges::count_if(checked.findings, &check::Finding::is_doubtful);
  if (doubtful != 0) found += fmt::format(" ({} doubtful)", grouped(doubtful));
  std::string out = fmt::format("{} in {} branches", found, grouped(checked.branches));
  if (checked.explained != 0) {
    out += fmt::format(", {} explained (--explained shows them)", grouped(checked.explained));
  }
  if (!checked.complete()) out += ", " + style.paint(Tone::bad, "not everything could be checked");
  return out + "\n";
}

}  // namespace

std::string finding_text(const check::Finding& finding, const session::Session& session,
                         const Style& style) {
  const Branch& b = finding.branch;
  std::string out = fmt::format("{}  {}, {}\n", style.paint(Tone::title, finding.rule->name),
                                style.paint(Tone::bad, grade_of(finding)),
                                finding.count == 1 ? "once" : grouped(finding.count) + " times");
  out += fmt::format("  {}\n", printable(finding.reason));
  if (finding.is_doubtful()) out += fmt::format("  {}\n", kDoubt);
  for (const auto& [label, address] : {std::pair("from", b.from), std::pair("to  ", b.to)}) {
    out += fmt::format("  {} {}{}\n", label, place_of(session, finding, address, b.time, style),
                       source_place(session, finding, address));
  }
  out += fmt::format("  {}\n", who_text(session, finding));
  return out + evidence(session, finding, style);
}

std::string summary_text(const Checked& checked, const session::Session& session,
                         const Style& style) {
  std::string out;
  for (const check::Unjudged& line : checked.unjudged) {
    out +=
        fmt::format("{} {} different branches in {}: {}\n", style.paint(Tone::bad, "not checked:"),
                    grouped(line.branches), printable(line.path), printable(line.reason));
  }
  if (checked.windows) {
    out += fmt::format(
        "{} what ran between the branch stacks; of a return whose call is in none, only that it "
        "goes behind some call\n",
        style.paint(Tone::bad, "not checked:"));
  }
  for (const std::string& line : checked.not_judged) {
    out += fmt::format("{} {}\n", style.paint(Tone::title, "not judged:"), line);
  }
  if (!checked.losses.empty()) {
    out += style.paint(Tone::title, "Losses") + "\n";
    out += losses_text(checked.losses, session.clock(), style);
  }
  return out + summary(checked, style);
}

std::string findings_text(const Checked& checked, const session::Session& session,
                          const Style& style) {
  std::string out;
  for (const check::Finding& finding : checked.findings) {
    out += finding_text(finding, session, style) + "\n";
  }
  return out + summary_text(checked, session, style);
}

}  // namespace hodo::view
