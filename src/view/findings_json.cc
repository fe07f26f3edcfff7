#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "hodo/check/suppressions.h"
#include "hodo/view/findings.h"
#include "hodo/view/growing.h"
#include "hodo/view/losses.h"
#include "hodo/view/task_name.h"

namespace hodo::view {
namespace {

using Json = nlohmann::ordered_json;

Json end_json(const session::Session& session, std::uint32_t space, std::uint64_t address,
              std::uint64_t time, bool source) {
  if (address == 0) return nullptr;
  Json out;
  out["address"] = fmt::format("{:#x}", address);
  const session::Place place = session.names().place(space, address, time);
  if (!place.symbol.empty()) out["symbol"] = place.symbol;
  if (place.synthetic) out["synthetic"] = true;
  if (!place.object.empty()) {
    out["object"] = place.object;
    out["offset"] = place.offset;
  }
  if (!source) return out;
  const auto frames = source_of(session.names().object(space, address, time));
  if (!frames.empty() && !frames[0].file.empty()) {
    out["file"] = frames[0].file;
    out["line"] = frames[0].line;
  }
  return out;
}

Json branch_json(const session::Session& session, const check::Finding& finding, const Branch& b) {
  return {{"kind", name(b.kind)},
          {"from", end_json(session, finding.who.space, b.from, b.time, false)},
          {"to", end_json(session, finding.who.space, b.to, b.time, false)}};
}

Json facts_json(const session::Session& session, const check::Finding& finding) {
  Json out = Json::array();
  for (const check::Fact& fact : finding.facts) {
    Json one = {{"what", fact.what}};
    const Json place =
        end_json(session, finding.who.space, fact.address, finding.branch.time, true);
    if (!place.is_null()) one["place"] = place;
    if (!fact.text.empty()) one["text"] = fact.text;
    out.push_back(std::move(one));
  }
  return out;
}

Json code_json(const std::vector<check::CodeLine>& code) {
  Json out = Json::array();
  for (const check::CodeLine& line : code) {
    out.push_back({{"address", fmt::format("{:#x}", line.address)}, {"instruction", line.text}});
  }
  return out;
}

Json finding_json(const session::Session& session, const check::Finding& finding);

// No step has steps.
Json steps_json(const session::Session& session, const check::Finding& finding) {
  Json out = Json::array();
  for (const check::Finding& step : finding.steps) out.push_back(finding_json(session, step));
  return out;
}

Json suppressed_json(const Checked& checked, const session::Session& session) {
  Json out = Json::array();
  for (const Suppressed& one : checked.suppressed) {
    out.push_back({{"why", one.why}, {"finding", finding_json(session, one.finding)}});
  }
  return out;
}

Json learned_json(const Learned& learned, const session::Session& session) {
  Json some = Json::array();
  for (const check::LearnedBranch& one : learned.some) {
    const Branch& b = one.branch;
    some.push_back({{"kind", name(b.kind)},
                    {"from", end_json(session, one.who.space, b.from, b.time, true)},
                    {"to", end_json(session, one.who.space, b.to, b.time, true)}});
  }
  return {{"branches", learned.edges}, {"new", learned.fresh}, {"some", std::move(some)}};
}

Json finding_json(const session::Session& session, const check::Finding& finding) {
  const Branch& b = finding.branch;
  session::Clock clock = session.clock();
  Json out;
  out["rule"] = finding.rule->name;
  out["grade"] = name(finding.grade);
  out["reason"] = finding.reason;
  out["doubtful"] = finding.is_doubtful();
  out["count"] = finding.count;
  out["pid"] = finding.who.pid;
  out["tid"] = finding.who.tid;
  out["comm"] = task_name(session, finding.who.pid, finding.who.tid);
  out["time"] = clock.nanoseconds(b.time);
  out["kind"] = name(b.kind);
  out["from"] = end_json(session, finding.who.space, b.from, b.time, true);
  out["to"] = end_json(session, finding.who.space, b.to, b.time, true);
  out["facts"] = facts_json(session, finding);
  out["code_from"] = code_json(finding.code_from);
  out["code_to"] = code_json(finding.code_to);
  out["suppression"] = check::suppression_of(finding, session.names());
  out["steps"] = steps_json(session, finding);
  for (const auto& [key, list] :
       {std::pair("before", &finding.before), std::pair("after", &finding.after)}) {
    out[key] = Json::array();
    for (const Branch& near : *list) out[key].push_back(branch_json(session, finding, near));
  }
  return out;
}

}  // namespace

Json findings_json(const Checked& checked, const session::Session& session) {
  Json out;
  out["branches"] = checked.branches;
  out["complete"] = checked.complete();
  out["windows"] = checked.windows;
  out["explained"] = checked.explained;
  out["findings"] = Json::array();
  for (const check::Finding& f : checked.findings) {
    out["findings"].push_back(finding_json(session, f));
  }
  out["suppressed"] = suppressed_json(checked, session);
  out["unused_suppressions"] = checked.unused;
  if (checked.learned) out["learned"] = learned_json(*checked.learned, session);
  out["not_checked"] = Json::array();
  for (const check::Unjudged& line : checked.unjudged) {
    out["not_checked"].push_back(
        {{"path", line.path}, {"reason", line.reason}, {"branches", line.branches}});
  }
  out["not_judged"] = checked.not_judged;
  out["losses"] = losses_json(checked.losses, session.clock());
  add_growing(out, session);
  return out;
}

}  // namespace hodo::view
