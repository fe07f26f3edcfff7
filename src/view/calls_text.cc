#include <fmt/format.h>

#include <algorithm>

#include "call_forest.h"
#include "hodo/view/calls.h"
#include "hodo/view/table.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

std::string cost(const analyze::CallTree::Totals& totals, const session::Clock& clock) {
  std::string out = grouped(totals.instructions) + " instructions";
  if (clock.known()) out += ", " + duration(totals.time);
  return out;
}

std::string heading(const analyze::CallThread& thread, const session::Session& session,
                    const analyze::CallTree::Totals& totals, const Style& style) {
  std::string who = "trace";
  if (thread.tid >= 0) {
    who = fmt::format("{} {}/{}", printable(thread_name(session, thread)), thread.pid, thread.tid);
  }
  std::string out = style.paint(Tone::title, who) + "  " + cost(totals, session.clock());
  if (thread.gaps != 0) {
    std::string gaps = fmt::format(", {} gaps", grouped(thread.gaps));
    if (thread.gap_time != 0 && session.clock().known()) {
      gaps += " of " + duration(thread.gap_time);
    }
    out += style.paint(Tone::bad, gaps);
  }
  if (thread.restarts != 0) {
    out += fmt::format(", caller unknown {} times", grouped(thread.restarts));
  }
  return out + "\n";
}

std::string tree_text(const analyze::CallTree& tree, const CallForest& forest,
                      const analyze::CallThread& thread, const session::Session& session,
                      const Style& style) {
  bool timed = session.clock().known();
  Table table({{.title = "total", .align = Align::right},
               {.title = "self", .align = Align::right},
               {.title = "calls", .align = Align::right},
               {.title = "instructions", .align = Align::right},
               {.title = timed ? "time" : "", .align = Align::right},
               {.title = "function", .tone = Tone::name, .shrinks = true, .cut = Cut::name}});
  std::uint64_t whole = forest.weight(forest.total(thread.root));
  for (const CallForest::Line& line : forest.lines(thread)) {
    const analyze::CallNode& node = tree.nodes()[line.node];
    const analyze::CallTree::Totals& total = forest.total(line.node);
    std::string name(2 * std::size_t{line.depth - 1}, ' ');
    append_printable(name, tree.functions()[node.function].name);
    table.add({percent(forest.weight(total), whole), percent(forest.self_weight(line.node), whole),
               grouped(node.calls), grouped(total.instructions), timed ? duration(total.time) : "",
               name});
  }
  return table.empty() ? "  no calls\n" : table.render(style);
}

}  // namespace

std::string calls_text(const analyze::CallTree& tree, const session::Session& session,
                       const CallsOptions& options, const Style& style) {
  CallForest forest(tree, options);
  std::string out;
  for (const analyze::CallThread& thread : tree.threads()) {
    if (!out.empty()) out += '\n';
    out += heading(thread, session, forest.total(thread.root), style);
    out += tree_text(tree, forest, thread, session, style);
  }
  const analyze::CallTree::Totals& other = forest.total(0);
  if (other.instructions != 0) {
    out += fmt::format("\nbehind the first {} call paths: {}\n", grouped(tree.nodes().size() - 1),
                       cost(other, session.clock()));
  }
  if (forest.left_out() != 0) {
    const std::string below =
        options.min_percent > 0 ? fmt::format("below {}% or ", options.min_percent) : "";
    out += fmt::format("\n{} call paths are {}deeper than {} and not shown\n",
                       grouped(forest.left_out()), below, options.depth);
  }
  return out;
}

}  // namespace hodo::view
