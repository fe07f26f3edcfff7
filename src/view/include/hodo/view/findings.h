// What `hodo check` found, for people and for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/check/checker.h"
#include "hodo/check/finding.h"
#include "hodo/session/session.h"
#include "hodo/view/style.h"

namespace hodo::view {

// The outcome of a check.
struct Checked {
  std::uint64_t branches = 0;
  std::vector<check::Finding> findings;  // those to show
  std::uint64_t explained = 0;           // findings of that grade that are not shown
  std::vector<check::Unjudged> unjudged;
  std::vector<session::LossLine> losses;
  std::vector<std::string> not_judged;  // what this check says nothing about, however complete
  // The trace is of branch stacks: windows, between which anything may have happened.
  bool windows = false;
  bool complete() const { return unjudged.empty() && losses.empty() && !windows; }
};

// Of a finding that is doubtful.
inline constexpr std::string_view kDoubt =
    "doubtful: the trace is lost just there, and what damaged it may have made this up";

// A paragraph about one finding, with the branches around it.
std::string finding_text(const check::Finding& finding, const session::Session& session,
                         const Style& style);
// How many there are, and what could not be checked.
std::string summary_text(const Checked& checked, const session::Session& session,
                         const Style& style);
// A paragraph per finding with the branches around it, then what could not be checked.
std::string findings_text(const Checked& checked, const session::Session& session,
                          const Style& style);
// One JSON object. docs/rules/README.md describes it.
nlohmann::ordered_json findings_json(const Checked& checked, const session::Session& session);
// One HTML page that needs no other file.
std::string findings_html(const Checked& checked, const session::Session& session);

}  // namespace hodo::view
