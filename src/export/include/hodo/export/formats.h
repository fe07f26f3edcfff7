// What a recording says, in the formats of other tools. Each format is one file of this folder and
// one line in the table of its subject (formats.cc): commands take the names from there.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "hodo/analyze/call_slices.h"
#include "hodo/analyze/call_tree.h"
#include "hodo/analyze/coverage.h"
#include "hodo/analyze/flow_graph.h"
#include "hodo/analyze/jumps.h"
#include "hodo/view/calls.h"
#include "hodo/view/findings.h"
#include "hodo/view/output.h"

namespace hodo::exports {

struct CoverageOptions {
  std::size_t map_size = 65536;  // of bitmap: a power of two
  // Of lcov: whether a source file shall be in it. Null: all.
  std::function<bool(const std::string&)> wanted;
};

struct CoverageFormat {
  std::string_view name;  // as --format has it
  bool lines = false;     // it tells of source lines: coverage_of() has to find them
  bool numbers = false;  // it has the modules' numbers: those that are left out must not shift them
  std::string (*write)(const analyze::Coverage& coverage, const CoverageOptions& options);
};
std::span<const CoverageFormat> coverage_formats();

struct FindingsFormat {
  std::string_view name;
  // `version` is that of this program.
  std::string (*write)(const view::Checked& checked, const session::Session& session,
                       std::string_view version);
};
std::span<const FindingsFormat> findings_formats();

// What becomes of a function's blocks that never ran.
enum class NeverRun : std::uint8_t {
  folded,    // of a large function, those that hang together are one box
  drawn,     // each is a box
  left_out,  // they and the ways to them are not drawn
};
struct GraphFormat {
  std::string_view name;
  std::string (*write)(const analyze::FlowGraph& graph, const session::Session& session,
                       NeverRun never_run);
};
std::span<const GraphFormat> graph_formats();

struct TimelineOptions {
  analyze::SliceAxis axis = analyze::SliceAxis::time;
  std::string_view version;  // of this program
};
// Takes the calls of all threads, writes them as they come, and the rest at the end.
class TimelineWriter : public analyze::SliceSink {
 public:
  // Errors: io, no_space, of files in which it kept what has to come last.
  virtual Status finish() = 0;
};
struct TimelineFormat {
  std::string_view name;
  // Session and output must outlive the writer.
  std::unique_ptr<TimelineWriter> (*make)(const session::Session& session,
                                          const TimelineOptions& options, view::Output& out);
};
std::span<const TimelineFormat> timeline_formats();

struct TreeFormat {
  std::string_view name;
  void (*write)(const analyze::CallTree& tree, const session::Session& session,
                const view::CallsOptions& options, view::Output& out);
};
std::span<const TreeFormat> tree_formats();

struct JumpsFormat {
  std::string_view name;
  void (*write)(const analyze::FileJumps& file, view::Output& out);
};
std::span<const JumpsFormat> jumps_formats();

// The format of that name; null: there is none.
template <class Format>
const Format* find(std::span<const Format> formats, std::string_view name) {
  for (const Format& format : formats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

}  // namespace hodo::exports
