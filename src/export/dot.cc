#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

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

// Inside of double quotes.
std::string quoted(std::string_view raw) {
  std::string out;
  for (const char c : printable(raw)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

class Dot {
 public:
  Dot(const analyze::FlowGraph& graph, const session::Session& session)
      : graph_(graph), session_(session) {}

  std::string make() {
    const std::string object = graph_.object.empty() ? "" : " in " + graph_.object;
    add("digraph \"{}\" {{\n", quoted(graph_.function));
    add("  label=\"{}\\n{} of {} blocks ran\";\n", quoted(graph_.function + object),
        std::ranges::count_if(graph_.blocks, [](const auto& b) { return b.count != 0; }),
        graph_.blocks.size());
    out_ +=
        "  labelloc=t; fontname=\"sans-serif\"; bgcolor=white;\n"
        "  node [shape=box, style=filled, fillcolor=white, fontname=\"monospace\", fontsize=10];\n"
        "  edge [fontname=\"sans-serif\", fontsize=9];\n";
    for (std::size_t i = 0; i < graph_.blocks.size(); ++i) block(i);
    for (const analyze::GraphEdge& e : graph_.edges) edge(e);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<Args>(args)...);
  }

  void block(std::size_t number) {
    const analyze::GraphBlock& b = graph_.blocks[number];
    add("  b{} [label=\"", number);
    for (std::size_t i = 0; i < b.insns.size() && i < kMostLines; ++i) {
      const analyze::GraphInsn& insn = b.insns[i];
      add("{:x}  {}{}\\l", insn.address, quoted(insn.text), target_of(insn));
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
    return place.symbol.empty() ? "" : fmt::format(" <{}>", quoted(place.symbol));
  }

  void edge(const analyze::GraphEdge& e) {
    const bool outside = e.to == analyze::GraphEdge::kOutside;
    const std::string to = outside ? fmt::format("x{:x}", e.target) : fmt::format("b{}", e.to);
    if (outside && drawn_.insert(e.target).second) {
      const session::Place place = session_.names().place(graph_.space, e.target, graph_.time);
      add("  {} [label=\"{}\", shape=plaintext, style=\"\"];\n", to,
          quoted(describe(e.target, place, {})));
    }
    add("  b{} -> {} [", e.from, to);
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
  std::string out_;
  std::set<std::uint64_t> drawn_;
};

}  // namespace

std::string dot(const analyze::FlowGraph& graph, const session::Session& session) {
  return Dot(graph, session).make();
}

}  // namespace hodo::exports
