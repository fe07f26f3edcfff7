#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "hodo/check/suppressions.h"
#include "hodo/view/finding_path.h"
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

std::string path_text(const session::Session& session, const check::Finding& finding,
                      const Style& style, bool all_branches) {
  std::string out;
  for (const PathLine& line :
       all_branches ? whole_path(finding) : path_that_matters(finding, session)) {
    if (line.branch == nullptr) {
      out += style.paint(Tone::dim, fmt::format("    {}", hidden_text(line))) + "\n";
    } else {
      out +=
          branch_line(session, finding, *line.branch, line.itself, line.itself ? Style{} : style);
    }
  }
  return out;
}

// A line of what is known of a finding: the labels stand in one column.
std::string labelled(std::string_view label, std::string_view text) {
  return fmt::format("  {:<16} {}\n", label, text);
}

std::string facts_text(const session::Session& session, const check::Finding& finding,
                       const Style& style) {
  std::string out;
  for (const check::Fact& fact : finding.facts) {
    std::string text;
    if (fact.address != 0) {
      text = place_of(session, finding, fact.address, finding.branch.time, style) +
             source_place(session, finding, fact.address);
    }
    if (!fact.text.empty()) text += (text.empty() ? "" : ": ") + printable(fact.text);
    out += labelled(fact.what, text);
  }
  return out;
}

std::string code_text(const std::vector<check::CodeLine>& code, const Style& style) {
  std::string out;
  for (const check::CodeLine& line : code) {
    out += labelled(
        "", style.paint(Tone::dim, fmt::format("  {:x}  {}", line.address, printable(line.text))));
  }
  return out;
}

std::string end_text(const session::Session& session, const check::Finding& finding,
                     std::string_view label, std::uint64_t address,
                     const std::vector<check::CodeLine>& code, const Style& style) {
  return labelled(label, place_of(session, finding, address, finding.branch.time, style) +
                             source_place(session, finding, address)) +
         code_text(code, style);
}

// "return.target at ret 401 gadget+0x1 (prog) => ...: reason".
std::string step_line(const session::Session& session, const check::Finding& step,
                      const Style& style) {
  const Branch& b = step.branch;
  return labelled(step.rule->name,
                  fmt::format("{} {} => {}, {}", name(b.kind),
                              place_of(session, step, b.from, b.time, style),
                              place_of(session, step, b.to, b.time, style), times(step.count))) +
         labelled("", printable(step.reason));
}

std::string steps_text(const session::Session& session, const check::Finding& finding,
                       const Style& style) {
  if (finding.steps.empty()) return "";
  std::string out = labelled("further steps", std::to_string(finding.steps.size()));
  for (const check::Finding& step : finding.steps) out += step_line(session, step, style);
  return out;
}

std::string suppression_text(const session::Session& session, const check::Finding& finding) {
  std::string out;
  const auto add = [&](const check::Finding& f) {
    out += labelled("suppressed by",
                    printable(check::suppression_of(f, session.names())) + " | REASON");
  };
  add(finding);
  for (const check::Finding& step : finding.steps) add(step);
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
  if (!checked.suppressed.empty()) {
    out += fmt::format(", {} suppressed", grouped(checked.suppressed.size()));
  }
  if (!checked.complete()) out += ", " + style.paint(Tone::bad, "not everything could be checked");
  return out + "\n";
}

std::string suppressed_text(const Checked& checked, const session::Session& session,
                            const Style& style) {
  std::string out;
  for (const Suppressed& one : checked.suppressed) {
    const Branch& b = one.finding.branch;
    out += fmt::format("{} {}, {}: {} => {}: {}\n", style.paint(Tone::title, "suppressed:"),
                       one.finding.rule->name, times(one.finding.count),
                       place_of(session, one.finding, b.from, b.time, style),
                       place_of(session, one.finding, b.to, b.time, style), printable(one.why));
  }
  for (const std::string& line : checked.unused) {
    out += fmt::format("{} {}\n", style.paint(Tone::title, "suppresses nothing:"), printable(line));
  }
  return out;
}

}  // namespace

std::string finding_text(const check::Finding& finding, const session::Session& session,
                         const Style& style, FindingDetail detail) {
  const Branch& b = finding.branch;
  std::string out = fmt::format("{}  {}, {}\n", style.paint(Tone::title, finding.rule->name),
                                style.paint(Tone::bad, grade_of(finding)), times(finding.count));
  out += fmt::format("  {}\n", printable(finding.reason));
  if (finding.is_doubtful()) out += fmt::format("  {}\n", kDoubt);
  out += facts_text(session, finding, style);
  out += end_text(session, finding, "from", b.from, finding.code_from, style);
  out += end_text(session, finding, "to", b.to, finding.code_to, style);
  out += labelled("in", who_text(session, finding));
  out += steps_text(session, finding, style);
  if (detail.suppression) out += suppression_text(session, finding);
  return out + path_text(session, finding, style, detail.all_branches);
}

std::string further_step_text(const check::Finding& finding, const session::Session& session,
                              const Style& style) {
  return "further step of what was told before\n" + step_line(session, finding, style);
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
  out += suppressed_text(checked, session, style);
  if (!checked.losses.empty()) {
    out += style.paint(Tone::title, "Losses") + "\n";
    out += losses_text(checked.losses, session.clock(), style);
  }
  return out + summary(checked, style);
}

std::string learned_text(const Learned& learned, const session::Session& session) {
  constexpr std::size_t kMost = 20;
  std::string out;
  for (const check::LearnedBranch& one :
       std::span(learned.some).first(std::min(kMost, learned.some.size()))) {
    const auto place = [&](std::uint64_t address) {
      return describe(address, session.names().place(one.who.space, address, one.branch.time), {});
    };
    out += fmt::format("  new: {} {} => {}\n", name(one.branch.kind), place(one.branch.from),
                       place(one.branch.to));
  }
  if (learned.fresh > kMost) {
    out += fmt::format("  and {} more; --json lists up to {}\n", grouped(learned.fresh - kMost),
                       grouped(check::Checker::kMostLearned));
  }
  return out;
}

std::string findings_text(const Checked& checked, const session::Session& session,
                          const Style& style, bool all_branches) {
  std::string out;
  const FindingDetail detail{.all_branches = all_branches,
                             .suppression = checked.teach_suppressing};
  for (const check::Finding& finding : checked.findings) {
    out += finding_text(finding, session, style, detail) + "\n";
  }
  return out + summary_text(checked, session, style);
}

}  // namespace hodo::view
