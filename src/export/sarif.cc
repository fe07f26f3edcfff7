// Findings as SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"), which code
// scanning services and editors read. Numbers in brackets are the sections of that document.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

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

  Json result(const check::Finding& finding) {
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
    if (has_source && b.to != 0) {
      Json target = place(space, b.to, b);
      target["id"] = 1;
      target["message"] = message("where the branch leads");
      out["relatedLocations"] = Json::array({std::move(target)});
    }
    Json flow;
    flow["threadFlows"] = Json::array({thread_flow(finding)});
    out["codeFlows"] = Json::array({flow});
    out["occurrenceCount"] = finding.count;
    out["partialFingerprints"]["branch/v1"] = fmt::format(
        "{} {} {}", finding.rule->name, fingerprint(space, b.from, b), fingerprint(space, b.to, b));
    out["properties"] = {{"grade", name(finding.grade)},
                         {"doubtful", finding.is_doubtful()},
                         {"branchKind", name(b.kind)},
                         {"pid", finding.who.pid},
                         {"tid", finding.who.tid},
                         {"comm", printable(task_name(session_, finding.who.pid, finding.who.tid))},
                         {"timeNs", session_.clock().nanoseconds(b.time)}};
    return out;
  }

 private:
  // "readdir+0x0 (libhides.so)".
  std::string spoken(std::uint32_t space, std::uint64_t address, const Branch& branch) const {
    if (address == 0) return "-";
    return describe(address, session_.names().place(space, address, branch.time), {});
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
    const auto add = [&](const Branch& b, bool itself) {
      const std::uint32_t space = finding.who.space;
      Json at = place(space, b.from != 0 ? b.from : b.to, b);
      at["message"] = message(fmt::format("{} {} => {}", name(b.kind), spoken(space, b.from, b),
                                          spoken(space, b.to, b)));
      steps.push_back({{"location", std::move(at)},
                       {"executionOrder", steps.size() + 1},
                       {"importance", itself ? "essential" : "unimportant"}});
    };
    for (const Branch& b : finding.before) add(b, false);
    add(finding.branch, true);
    for (const Branch& b : finding.after) add(b, false);
    return {{"id", fmt::format("thread {}", finding.who.tid)}, {"locations", std::move(steps)}};
  }

  const session::Session& session_;
};

Json rules_json() {
  Json out = Json::array();
  for (const check::Rule& rule : check::rules()) {
    Json line;
    line["id"] = rule.name;
    line["shortDescription"] = message(rule.summary);
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
