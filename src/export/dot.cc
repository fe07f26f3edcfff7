#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "hodo/view/place.h"
#include "hodo/view/text.h"
#include "writers.h"

namespace hodo::exports {
namespace {

using view::describe;
using view::grouped;
using view::printable;

// Instructions of a block that are shown: a long one says how many it leaves out.
constexpr std::size_t kMostLines = 40;
// Of more blocks than these nobody sees all at once.
constexpr std::size_t kLarge = 40;
constexpr std::size_t kLongestName = 60;

// Inside of double quotes.
std::string dot_quoted(std::string_view raw) {
  std::string out;
  for (const char c : printable(raw)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string short_name(std::string_view raw) {
  return dot_quoted(view::fit(printable(raw), kLongestName));
}
// The whole of what was cut.
std::string tooltip(std::string_view raw) {
  if (view::width(printable(raw)) <= kLongestName) return "";
  return fmt::format(", tooltip=\"{}\"", dot_quoted(raw));
}

// Blocks that never ran and that lead to each other, by the smallest number among them.
class Regions {
 public:
  explicit Regions(const analyze::FlowGraph& graph) : first_(graph.blocks.size()) {
    std::iota(first_.begin(), first_.end(), std::uint32_t{0});
    for (const analyze::GraphEdge& e : graph.edges) {
      if (e.to == analyze::GraphEdge::kOutside) continue;
      if (graph.blocks[e.from].count != 0 || graph.blocks[e.to].count != 0) continue;
      const auto [low, high] = std::minmax({of(e.from), of(e.to)});
      first_[high] = low;
    }
  }
  std::uint32_t of(std::uint32_t block) {
    while (first_[block] != block) block = first_[block] = first_[first_[block]];
    return block;
  }

 private:
  std::vector<std::uint32_t> first_;
};

class Dot {
 public:
  Dot(const analyze::FlowGraph& graph, const session::Session& session, NeverRun never_run)
      : graph_(graph),
        session_(session),
        never_run_(never_run == NeverRun::folded && graph.blocks.size() <= kLarge ? NeverRun::drawn
                                                                                  : never_run),
        regions_(graph) {}

  std::string make() {
    const std::string object = graph_.object.empty() ? "" : " in " + dot_quoted(graph_.object);
    add("digraph \"{}\" {{\n", dot_quoted(graph_.function));
    add("  label=\"{}{}\\n{} of {} blocks ran\"{};\n", short_name(graph_.function), object,
        std::ranges::count_if(graph_.blocks, [](const auto& b) { return b.count != 0; }),
        graph_.blocks.size(), tooltip(graph_.function));
    out_ +=
        "  labelloc=t; fontname=\"sans-serif\"; bgcolor=white;\n"
        "  node [shape=box, style=filled, fillcolor=white, fontname=\"monospace\", fontsize=10];\n"
        "  edge [fontname=\"sans-serif\", fontsize=9];\n";
    for (std::uint32_t i = 0; i < graph_.blocks.size(); ++i) {
      if (is_drawn(i)) block(i);
    }
    if (never_run_ == NeverRun::folded) folded_regions();
    for (const analyze::GraphEdge& e : graph_.edges) edge(e);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Args>(args)...);
  }

  bool is_drawn(std::uint32_t block) const {
    return never_run_ == NeverRun::drawn || graph_.blocks[block].count != 0;
  }

  void folded_regions() {
    struct Region {
      std::size_t blocks = 0;
      std::size_t insns = 0;
    };
    std::map<std::uint32_t, Region> all;
    for (std::uint32_t i = 0; i < graph_.blocks.size(); ++i) {
      if (is_drawn(i)) continue;
      Region& region = all[regions_.of(i)];
      ++region.blocks;
      region.insns += graph_.blocks[i].insns.size();
    }
    const auto many = [](std::size_t count, std::string_view what) {
      return fmt::format("{} {}{}", grouped(count), what, count == 1 ? "" : "s");
    };
    for (const auto& [first, region] : all) {
      add("  b{} [label=\"{:x}\\l{}, {}: never ran\\l\", style=dashed, fontcolor=gray40];\n", first,
          graph_.blocks[first].insns[0].address, many(region.blocks, "block"),
          many(region.insns, "instruction"));
    }
  }

  void block(std::size_t number) {
    const analyze::GraphBlock& b = graph_.blocks[number];
    add("  b{} [label=\"", number);
    for (std::size_t i = 0; i < b.insns.size() && i < kMostLines; ++i) {
      const analyze::GraphInsn& insn = b.insns[i];
      add("{:x}  {}{}\\l", insn.address, dot_quoted(insn.text), target_of(insn));
    }
    if (b.insns.size() > kMostLines) add("and {} more\\l", b.insns.size() - kMostLines);
    if (b.count != 0) {
      add("ran {}\\r\", fillcolor=yellow", b.count == 1 ? "once" : grouped(b.count) + " times");
    } else {
      out_ += '"';
    }
    out_ += "];\n";
  }

  // " <strlen>", if it leaves the function.
  std::string target_of(const analyze::GraphInsn& insn) const {
    if (insn.target == 0 || insn.target - graph_.address < graph_.size) return "";
    const session::Place place = session_.names().place(graph_.space, insn.target, graph_.time);
    return place.symbol.empty() ? "" : fmt::format(" <{}>", short_name(place.symbol));
  }

  void outside(const std::string& box, std::uint64_t target) {
    if (!drawn_.insert(target).second) return;
    const std::string name =
        describe(target, session_.names().place(graph_.space, target, graph_.time), {});
    add("  {} [label=\"{}\", shape=plaintext, style=\"\"{}];\n", box, short_name(name),
        tooltip(name));
  }

  // Whether an edge that leads from or to blocks that are not drawn is one of their region's. Of
  // several with the same ends the first is; where a region leads to outside does not matter.
  bool stands_for_others(const analyze::GraphEdge& e, std::uint32_t from, std::uint32_t to) {
    if (never_run_ == NeverRun::left_out || e.to == analyze::GraphEdge::kOutside) return false;
    return from != to && folded_.emplace(from, to).second;
  }

  void edge(const analyze::GraphEdge& e) {
    const bool leaves = e.to == analyze::GraphEdge::kOutside;
    const std::uint32_t first = is_drawn(e.from) ? e.from : regions_.of(e.from);
    const std::uint32_t last = leaves || is_drawn(e.to) ? e.to : regions_.of(e.to);
    const bool whole = is_drawn(e.from) && (leaves || is_drawn(e.to));
    if (!whole && !stands_for_others(e, first, last)) return;
    const std::string to = leaves ? fmt::format("x{:x}", e.target) : fmt::format("b{}", last);
    if (leaves) outside(to, e.target);
    add("  b{} -> {} [", first, to);
    if (e.count == 0) {
      out_ += "style=dotted, color=gray40";
    } else {
      add("label=\"{}\"", grouped(e.count));
    }
    if (e.kind == analyze::GraphEdge::Kind::taken) out_ += ", arrowhead=vee";
    if (e.kind == analyze::GraphEdge::Kind::indirect) out_ += ", style=dashed";
    out_ += "];\n";
  }

  const analyze::FlowGraph& graph_;
  const session::Session& session_;
  NeverRun never_run_;
  Regions regions_;
  std::string out_;
  std::set<std::uint64_t> drawn_;                             // places outside
  std::set<std::pair<std::uint32_t, std::uint32_t>> folded_;  // edges of regions
};

}  // namespace

std::string dot(const analyze::FlowGraph& graph, const session::Session& session,
                NeverRun never_run) {
  return Dot(graph, session, never_run).make();
}

}  // namespace hodo::exports
