// The report of `hodo report`: what a person wants to know first.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "hodo/analyze/profile.h"
#include "hodo/analyze/tasks.h"
#include "hodo/session/ends.h"
#include "hodo/session/session.h"
#include "hodo/view/hot.h"
#include "hodo/view/style.h"

namespace hodo::view {

// As typed in a shell; raw.
std::string command_of(const session::Facts& facts);
// "name (Linux 6.1.0, x86_64, 2 cpus, model name)"; raw.
std::string host_of(const session::Facts& facts);

// How a process ended. Strings are raw.
struct EndLine {
  session::ProcessEnd end;  // with the name that the process had last
  std::string place;        // of end.ip, as shown; empty where that is unknown
};

// What a report says, before it is put into words.
struct Report {
  std::string file;
  std::string command;              // command_of()
  std::string host;                 // host_of()
  std::string recorded_by;          // version of the recorder
  std::uint64_t wall_clock_ns = 0;  // since 1970; 0: unknown
  std::uint64_t duration_ns = 0;
  bool raw = false;  // a bare trace: no command, host, tasks
  bool finished = true;
  std::string growing;    // growing_text()
  bool snapshot = false;  // only the newest part of the trace was to be kept
  std::uint64_t trace_bytes = 0;
  std::vector<EndLine> ends;  // where the recorder was hodo
  std::vector<analyze::TaskLine> tasks;
  std::vector<HotFunction> functions;  // by instructions
  std::vector<HotEdge> edges;
  std::uint64_t dropped_edges = 0;
};

Report make_report(const session::Session& session, const session::Outcome& outcome,
                   const analyze::Profile& profile, std::size_t top, SourceDetail detail = {});

// `top`: how many functions and edges the tables show.
std::string report_text(const Report& report, const session::Session& session,
                        const session::Outcome& outcome, std::size_t top, const Style& style);
nlohmann::ordered_json report_json(const Report& report, const session::Session& session,
                                   const session::Outcome& outcome, std::size_t top);

}  // namespace hodo::view
