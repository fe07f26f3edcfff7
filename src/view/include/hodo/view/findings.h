// What `hodo check` found, for people and for programs.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/check/checker.h"
#include "hodo/check/finding.h"
#include "hodo/session/session.h"
#include "hodo/view/style.h"

namespace hodo::view {

// A finding that is not to be shown, by a line of the user's.
struct Suppressed {
  check::Finding finding;
  std::string why;  // as the line says
};

// What a baseline learned of a run.
struct Learned {
  std::uint64_t edges = 0;                   // that it has now
  std::uint64_t fresh = 0;                   // of them, those that it did not have before
  std::vector<check::LearnedBranch> some{};  // of those, at most Checker::kMostLearned
};

// The outcome of a check.
struct Checked {
  std::uint64_t branches = 0;
  std::vector<check::Finding> findings;  // those to show
  std::uint64_t explained = 0;           // findings of that grade that are not shown
  std::vector<Suppressed> suppressed;
  std::vector<std::string> unused;  // lines of suppressions that fit nothing
  bool teach_suppressing = false;   // show with each finding the line that suppresses it
  std::optional<Learned> learned;
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

// How much of a finding to show.
struct FindingDetail {
  bool all_branches = false;  // also those that do not matter
  bool suppression = false;   // the line that suppresses it
};

// A paragraph about one finding, with its steps and the branches around it.
std::string finding_text(const check::Finding& finding, const session::Session& session,
                         const Style& style, FindingDetail detail = {});
// Of a finding that is told while a program runs, whose attack was told before.
std::string further_step_text(const check::Finding& finding, const session::Session& session,
                              const Style& style);
// How many there are, and what could not be checked.
std::string summary_text(const Checked& checked, const session::Session& session,
                         const Style& style);
// A paragraph per finding with the branches around it, then what could not be checked.
std::string findings_text(const Checked& checked, const session::Session& session,
                          const Style& style, bool all_branches = false);
// The branches that a baseline learned of a run, some of them by name.
std::string learned_text(const Learned& learned, const session::Session& session);
// One JSON object. docs/rules/README.md describes it.
nlohmann::ordered_json findings_json(const Checked& checked, const session::Session& session);
// One HTML page that needs no other file.
std::string findings_html(const Checked& checked, const session::Session& session);

}  // namespace hodo::view
