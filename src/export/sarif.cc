// Findings as SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"), which code
// scanning services and editors read. Numbers in brackets are the sections of that document.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hodo/check/rule_pages.h"
#include "hodo/view/finding_path.h"
#include "hodo/view/losses.h"
#include "hodo/view/place.h"
#include "hodo/view/task_name.h"
#include "hodo/view/text.h"
#include "writers.h"

namespace hodo::exports {
namespace {

using Json = nlohmann::ordered_json;
using view::Checked;
using view::describe;
using view::kDoubt;
using view::printable;
using view::task_name;

constexpr std::string_view kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr std::string_view kRulesUri = HODO_RULES_URI;
// Readers keep numbers as doubles: beyond this they would show another address.
constexpr std::uint64_t kLargestExact = std::uint64_t{1} << 53;

// Text of a message [3.11]. Braces are doubled, since "{0}" stands for an argument, and what would
// be a link, "[text](target)", is taken apart: names in it are the program's.
Json message(std::string_view raw) {
  std::string out;
  for (const char c : printable(raw)) {
    if (c == '(' && out.ends_with(']')) out += ' ';
    out += c;
    if (c == '{' || c == '}') out += c;
  }
  Json text;
  text["text"] = out;
  return text;
}

// A path as a URI [3.10.1]; relative ones stay so.
std::string uri_of(std::string_view path) {
  std::string out = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || std::string_view("-._~/").find(c) != std::string_view::npos) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string_view level(check::Grade grade) {
  switch (grade) {
    case check::Grade::impossible:
      return "error";
    case check::Grade::unexplained:
    case check::Grade::unusual:
      return "warning";
    case check::Grade::explained:
      break;
  }
  return "none";
}

// A doubtful one stands below the rest [3.27.10].
std::string_view level(const check::Finding& finding) {
  return finding.is_doubtful() ? "note" : level(finding.grade);
}

class Writer {
 public:
  explicit Writer(const session::Session& session) : session_(session) {}

  // `why`: it is suppressed; empty: it is not.
  Json result(const check::Finding& finding, std::string_view why = {}) {
    const Branch& b = finding.branch;
    const std::uint32_t space = finding.who.space;
    const bool has_source = b.from != 0;
    Json out;
    out["ruleId"] = finding.rule->name;
    out["ruleIndex"] = finding.rule - check::rules().data();
    out["kind"] = finding.grade == check::Grade::explained ? "informational" : "fail";
    out["level"] = level(finding);
    out["message"] = message(fmt::format(
        "{}: {} => {}{}{}", finding.reason, spoken(space, b.from, b), spoken(space, b.to, b),
        finding.is_doubtful() ? "; " : "", finding.is_doubtful() ? kDoubt : ""));
    out["locations"] = Json::array({place(space, has_source ? b.from : b.to, b)});
    Json related = related_locations(finding);
    if (!related.empty()) out["relatedLocations"] = std::move(related);
    Json flow;
    flow["threadFlows"] = Json::array({thread_flow(finding)});
    out["codeFlows"] = Json::array({flow});
    out["occurrenceCount"] = finding.count;
    if (!why.empty()) {
      out["suppressions"] =
          Json::array({{{"kind", "external"}, {"justification", printable(why)}}});
    }
    out["partialFingerprints"]["branch/v1"] = fmt::format(
        "{} {} {}", finding.rule->name, fingerprint(space, b.from, b), fingerprint(space, b.to, b));
    out["properties"] = {{"grade", name(finding.grade)},
                         {"facts", facts(finding)},
                         {"doubtful", finding.is_doubtful()},
                         {"branchKind", name(b.kind)},
                         {"pid", finding.who.pid},
                         {"tid", finding.who.tid},
                         {"comm", printable(task_name(session_, finding.who.pid, finding.who.tid))},
                         {"timeNs", session_.clock().nanoseconds(b.time)}};
    return out;
  }

 private:
  // Where the branch leads, what should have been, and the attack's further steps [3.27.22].
  Json related_locations(const check::Finding& finding) const {
    Json out = Json::array();
    const auto add = [&](std::uint64_t address, const Branch& branch, const std::string& what) {
      if (address == 0) return;
      Json at = place(finding.who.space, address, branch);
      at["id"] = out.size() + 1;
      at["message"] = message(what);
      out.push_back(std::move(at));
    };
    const Branch& b = finding.branch;
    if (b.from != 0) add(b.to, b, "where the branch leads");
    for (const check::Fact& fact : finding.facts) {
      const char* const between = fact.text.empty() ? "" : " ";
      add(fact.address, b, fmt::format("{}{}{}", fact.what, between, fact.text));
    }
    for (const check::Finding& step : finding.steps) {
      const Branch& s = step.branch;
      add(s.from != 0 ? s.from : s.to, s, fmt::format("{}: {}", step.rule->name, step.reason));
    }
    return out;
  }

  // "readdir+0x0 (libhides.so)".
  std::string spoken(std::uint32_t space, std::uint64_t address, const Branch& branch) const {
    if (address == 0) return "-";
    return describe(address, session_.names().place(space, address, branch.time), {});
  }

  // "should go to main+0x42 (victim)": in the order in which one asks.
  Json facts(const check::Finding& finding) const {
    Json out = Json::array();
    for (const check::Fact& fact : finding.facts) {
      const std::string place =
          fact.address == 0 ? "" : " " + spoken(finding.who.space, fact.address, finding.branch);
      out.push_back(printable(
          fmt::format("{}{}{}{}", fact.what, place, fact.text.empty() ? "" : " ", fact.text)));
    }
    return out;
  }

  // The same in every run, wherever the file is loaded.
  std::string fingerprint(std::uint32_t space, std::uint64_t address, const Branch& branch) const {
    const session::Object object = session_.names().object(space, address, branch.time);
    if (address == 0 || object.table == nullptr) return "-";
    return printable(fmt::format("{}+{:#x}", object.path, object.offset));
  }

  // A location [3.28]: the source line where DWARF has it, else the file; the address; the
  // function.
  Json place(std::uint32_t space, std::uint64_t address, const Branch& branch) const {
    const session::Place place = session_.names().place(space, address, branch.time);
    const session::Object object = session_.names().object(space, address, branch.time);
    const auto frames = source_of(object);
    Json physical;
    if (!frames.empty() && !frames[0].file.empty() && frames[0].line > 0) {
      physical["artifactLocation"]["uri"] = uri_of(frames[0].file);
      physical["region"]["startLine"] = frames[0].line;
    } else if (object.path.starts_with('/')) {
      physical["artifactLocation"]["uri"] = uri_of(object.path);
    }
    Json where = {{"kind", "instruction"}, {"fullyQualifiedName", spoken(space, address, branch)}};
    if (address < kLargestExact) where["absoluteAddress"] = address;
    physical["address"] = std::move(where);
    Json out;
    out["physicalLocation"] = std::move(physical);
    if (!place.symbol.empty()) {
      const Json function = {{"fullyQualifiedName", printable(place.symbol)}, {"kind", "function"}};
      out["logicalLocations"] = Json::array({function});
    }
    return out;
  }

  // The branches around the first time [3.37]: each where it comes from, with what it does.
  Json thread_flow(const check::Finding& finding) const {
    Json steps = Json::array();
    const auto add = [&](const Branch& b, std::string_view importance) {
      const std::uint32_t space = finding.who.space;
      Json at = place(space, b.from != 0 ? b.from : b.to, b);
      at["message"] = message(fmt::format("{} {} => {}", name(b.kind), spoken(space, b.from, b),
                                          spoken(space, b.to, b)));
      steps.push_back({{"location", std::move(at)},
                       {"executionOrder", steps.size() + 1},
                       {"importance", importance}});
    };
    const auto matters = view::path_that_matters(finding, session_);
    const auto importance = [&](const Branch& b) {
      const bool shown = std::ranges::find(matters, &b, &view::PathLine::branch) != matters.end();
      return shown ? "important" : "unimportant";
    };
    for (const Branch& b : finding.before) add(b, importance(b));
    add(finding.branch, "essential");
    for (const Branch& b : finding.after) add(b, importance(b));
    return {{"id", fmt::format("thread {}", finding.who.tid)}, {"locations", std::move(steps)}};
  }

  const session::Session& session_;
};

std::string one_line(std::string_view text) {
  std::string out(text);
  std::ranges::replace(out, '\n', ' ');
  return out;
}

Json rules_json() {
  Json out = Json::array();
  for (const check::Rule& rule : check::rules()) {
    Json line;
    line["id"] = rule.name;
    line["shortDescription"] = message(rule.summary);
    if (const check::RulePage* page = check::find_rule_page(rule.name)) {
      line["fullDescription"] = message(one_line(check::what_it_proves(*page)));
      line["helpUri"] = fmt::format("{}/{}.md", kRulesUri, rule.name);
      line["help"] = {{"text", page->text}, {"markdown", page->text}};
    }
    line["defaultConfiguration"]["level"] = level(rule.grade);
    line["properties"]["grade"] = name(rule.grade);
    out.push_back(std::move(line));
  }
  return out;
}

// What was not checked and what was lost: notifications [3.58] of the invocation.
Json notifications(const Checked& checked) {
  Json out = Json::array();
  const auto add = [&](std::string_view id, const std::string& text) {
    Json line;
    line["descriptor"]["id"] = id;
    line["level"] = "warning";
    line["message"] = message(text);
    out.push_back(std::move(line));
  };
  for (const check::Unjudged& line : checked.unjudged) {
    add("not-checked", fmt::format("{} different branches in {} were not checked: {}",
                                   line.branches, line.path, line.reason));
  }
  if (checked.windows) {
    add("windows", "What ran between the branch stacks was not checked.");
  }
  for (const session::LossLine& line : checked.losses) {
    const std::string reason = line.sites.empty() ? "" : ": " + line.sites[0].reason;
    add(line.cause, fmt::format("{} times lost{}", line.count, reason));
  }
  return out;
}

}  // namespace

std::string sarif(const view::Checked& checked, const session::Session& session,
                  std::string_view version) {
  Json results = Json::array();
  Writer writer(session);
  for (const check::Finding& f : checked.findings) results.push_back(writer.result(f));
  for (const view::Suppressed& s : checked.suppressed) {
    results.push_back(writer.result(s.finding, s.why));
  }
  const Json driver = {{"name", "hodoscope"}, {"version", version}, {"rules", rules_json()}};
  Json tool;
  tool["driver"] = driver;
  Json invocation;
  invocation["executionSuccessful"] = true;
  invocation["toolExecutionNotifications"] = notifications(checked);
  invocation["properties"]["complete"] = checked.complete();
  Json run;
  run["tool"] = std::move(tool);
  run["invocations"] = Json::array({std::move(invocation)});
  run["columnKind"] = "unicodeCodePoints";
  run["properties"] = {{"branches", checked.branches}, {"explained", checked.explained}};
  run["results"] = std::move(results);
  Json out;
  out["$schema"] = kSchema;
  out["version"] = "2.1.0";
  out["runs"] = Json::array({std::move(run)});
  return view::json_text(out);
}

}  // namespace hodo::exports
