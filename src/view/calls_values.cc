// Call trees for programs.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "call_forest.h"
#include "hodo/view/calls.h"
#include "hodo/view/growing.h"
#include "hodo/view/losses.h"
#include "hodo/view/text.h"
#include "json_line.h"

namespace hodo::view {
namespace {

using Json = nlohmann::ordered_json;

Json thread_json(const analyze::CallThread& thread, const session::Session& session,
                 const analyze::CallTree::Totals& totals) {
  Json out;
  if (thread.pid >= 0) out["pid"] = thread.pid;
  if (thread.tid >= 0) out["tid"] = thread.tid;
  if (thread.tid >= 0) out["comm"] = thread_name(session, thread);
  out["instructions"] = totals.instructions;
  out["time"] = totals.time;
  out["gaps"] = thread.gaps;
  out["gap_time"] = thread.gap_time;
  out["restarts"] = thread.restarts;
  return out;
}

// The functions that paths name, in the order in which the first of them began. Which others were
// asked for on the way, and when, hangs on how the trace was decoded.
class NamedFunctions {
 public:
  explicit NamedFunctions(const analyze::CallTree& tree)
      : tree_(tree), numbers_(tree.functions().size(), kNone) {
    for (const analyze::CallNode& node : tree.nodes()) {
      if (node.parent == analyze::CallNode::kNone || numbers_[node.function] != kNone) continue;
      numbers_[node.function] = static_cast<std::uint32_t>(named_.size());
      named_.push_back(node.function);
    }
  }
  std::uint32_t number(const analyze::CallNode& node) const { return numbers_[node.function]; }
  void write(Output& out) const {
    for (std::size_t i = 0; i < named_.size(); ++i) {
      const analyze::Function& f = tree_.functions()[named_[i]];
      Json value{{"name", f.name}, {"object", f.object}};
      if (f.synthetic) value["synthetic"] = true;
      out.write((i == 0 ? "\n  " : ",\n  ") + json_line(value));
    }
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  const analyze::CallTree& tree_;
  std::vector<std::uint32_t> numbers_;  // by function of the tree
  std::vector<std::uint32_t> named_;
};

void write_paths(const analyze::CallTree& tree, const CallForest& forest,
                 const NamedFunctions& functions, const analyze::CallThread& thread, Output& out) {
  std::vector<std::uint32_t> above;  // places of the ancestors in the list
  std::uint32_t place = 0;
  for (const CallForest::Line& line : forest.lines(thread)) {
    const analyze::CallNode& node = tree.nodes()[line.node];
    const analyze::CallTree::Totals& total = forest.total(line.node);
    above.resize(line.depth);
    std::string parent = line.depth == 1 ? "null" : std::to_string(above[line.depth - 2]);
    fmt::format_to(std::back_inserter(out.buffer()),
                   "{}\n    {{\"parent\":{},\"function\":{},\"calls\":{},\"instructions\":{},"
                   "\"self_instructions\":{},\"time\":{},\"self_time\":{}}}",
                   place == 0 ? "" : ",", parent, functions.number(node), node.calls,
                   total.instructions, node.instructions, total.time, node.time);
    above[line.depth - 1] = place++;
    out.checkpoint();
  }
}

// A frame as flamegraph.pl wants it: printable, without its separator.
std::string frame(std::string_view raw) {
  std::string out = printable(raw);
  std::ranges::replace(out, ';', ':');
  return out;
}

}  // namespace

void write_calls_json(const analyze::CallTree& tree, const session::Session& session,
                      const session::Outcome& outcome, const CallsOptions& options, Output& out) {
  CallForest forest(tree, options);
  out.write("{\n\"file\": " + json_line(session.path()));
  out.write(fmt::format(",\n\"complete\": {}", outcome.complete()));
  out.write(fmt::format(",\n\"time_unit\": \"{}\"", session.clock().known() ? "ns" : "ticks"));
  out.write(",\n\"functions\": [");
  const NamedFunctions functions(tree);
  functions.write(out);
  out.write("],\n\"threads\": [");
  bool first = true;
  for (const analyze::CallThread& thread : tree.threads()) {
    std::string head = json_line(thread_json(thread, session, forest.total(thread.root)));
    head.back() = ',';
    out.write((first ? "\n  " : ",\n  ") + head + "\"paths\":[");
    write_paths(tree, forest, functions, thread, out);
    out.write("]}");
    first = false;
  }
  const analyze::CallTree::Totals& other = forest.total(0);
  Json rest{{"instructions", other.instructions}, {"time", other.time}};
  out.write("],\n\"other\": " + json_line(rest));
  out.write(fmt::format(",\n\"left_out\": {}", forest.left_out()));  // paths, by the options
  if (const auto said = growing_json(session); !said.is_null()) {
    out.write(",\n\"growing\": " + json_line(said));
  }
  out.write(",\n\"losses\": " + json_line(losses_json(outcome.losses, session.clock())) + "\n}\n");
}

void write_calls_folded(const analyze::CallTree& tree, const session::Session& session,
                        const CallsOptions& options, Output& out) {
  CallForest forest(tree, options);
  for (const analyze::CallThread& thread : tree.threads()) {
    std::string root = thread.tid < 0 ? "trace" : frame(thread_name(session, thread));
    if (thread.tid >= 0) root += fmt::format("-{}", thread.tid);
    std::vector<std::string> path;  // path[d]: the frames down to depth d
    path.push_back(root);
    for (const CallForest::Line& line : forest.lines(thread)) {
      const analyze::CallNode& node = tree.nodes()[line.node];
      path.resize(line.depth);
      path.push_back(path.back() + ";" + frame(tree.functions()[node.function].name));
      // What lies deeper counts for the deepest frame that is shown.
      std::uint64_t weight = line.depth == options.depth ? forest.weight(forest.total(line.node))
                                                         : forest.self_weight(line.node);
      if (weight == 0) continue;
      fmt::format_to(std::back_inserter(out.buffer()), "{} {}\n", path.back(), weight);
      out.checkpoint();
    }
  }
}

}  // namespace hodo::view
