// A function with its counts, for people.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "hodo/base/last_component.h"
#include "hodo/view/annotated.h"
#include "hodo/view/place.h"
#include "hodo/view/source_text.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

using analyze::FlowGraph;
using analyze::GraphBlock;
using analyze::GraphEdge;
using analyze::GraphInsn;

constexpr std::size_t kMostTargets = 8;  // of an indirect jump

class Writer {
 public:
  Writer(const Annotated& what, bool only_ran, const Style& style)
      : what_(what), graph_(what.graph), only_ran_(only_ran), style_(style) {
    read_sources();
    for (std::uint32_t i = 0; i < graph_.edges.size(); ++i) out_of_[graph_.edges[i].from].insert(i);
    for (const GraphEdge& e : graph_.edges) {
      if (e.to != GraphEdge::kOutside && e.count != 0) into_[e.to].push_back(&e);
    }
    for (const GraphBlock& b : graph_.blocks) {
      for (const GraphInsn& i : b.insns) most_ = std::max(most_, i.count);
    }
    width_ = std::max<std::size_t>(9, grouped(most_).size() + 2);
  }

  std::string write() {
    head();
    std::size_t left_out = 0;
    std::size_t first_left_out = 0;
    for (std::uint32_t i = 0; i < graph_.blocks.size(); ++i) {
      if (only_ran_ && !ran(graph_.blocks[i])) {
        if (left_out++ == 0) first_left_out = i;
        continue;
      }
      fold(first_left_out, std::exchange(left_out, 0));
      block(i);
    }
    fold(first_left_out, left_out);
    if (graph_.undecoded != 0) {
      out_ +=
          fmt::format("\n{} at the end are no code that is known\n", byte_size(graph_.undecoded));
    }
    return std::move(out_);
  }

 private:
  static bool ran(const GraphBlock& block) {
    return std::ranges::any_of(block.insns, [](const GraphInsn& i) { return i.count != 0; });
  }

  void read_sources() {
    struct Span {
      std::uint32_t first = ~std::uint32_t{0}, last = 0;
    };
    std::map<std::string, Span> spans;
    for (const auto& block : what_.sources) {
      for (const InsnSource& source : block) {
        if (source.line == 0) continue;
        Span& span = spans[source.file];
        span.first = std::min(span.first, source.line);
        span.last = std::max(span.last, source.line);
      }
    }
    for (const auto& [file, span] : spans) {
      lines_[file] = read_source(file, span.first, span.last);
      if (lines_[file].empty()) absent_.insert(file);
    }
  }

  void head() {
    std::size_t insns = 0;
    std::size_t insns_ran = 0;
    for (const GraphBlock& b : graph_.blocks) {
      insns += b.insns.size();
      insns_ran += static_cast<std::size_t>(
          std::ranges::count_if(b.insns, [](const GraphInsn& i) { return i.count != 0; }));
    }
    out_ += style_.paint(Tone::name, printable(graph_.function));
    if (!graph_.object.empty()) {
      out_ += style_.paint(Tone::dim, fmt::format(" ({})", printable(graph_.object)));
    }
    const std::uint64_t entered = graph_.blocks.empty() ? 0 : graph_.blocks[0].count;
    out_ += fmt::format(
        "\nits first instruction ran {}; {} of {} blocks and {} of {} instructions ran\n",
        times(entered), std::ranges::count_if(graph_.blocks, ran), graph_.blocks.size(),
        grouped(insns_ran), grouped(insns));
    for (const std::string& file : absent_) {
      out_ += style_.paint(Tone::dim, absent_text(file) + "\n");
    }
    for (const auto& [file, lines] : lines_) {
      const std::string newer = newer_text(file, what_.program);
      if (!newer.empty()) out_ += style_.paint(Tone::dim, newer + "\n");
    }
  }

  void fold(std::size_t first, std::size_t count) {
    if (count == 0) return;
    const std::string which = count == 1 ? fmt::format("block {}", first)
                                         : fmt::format("blocks {} to {}", first, first + count - 1);
    out_ += "\n" + style_.paint(Tone::dim, which + " never ran") + "\n";
    here_ = {};
  }

  void block(std::uint32_t number) {
    const GraphBlock& b = graph_.blocks[number];
    std::string title = fmt::format("block {}, ran {}", number, times(b.count));
    if (!ran(b)) title = fmt::format("block {}, never ran", number);
    std::string from;
    if (auto it = into_.find(number); it != into_.end()) {
      for (const GraphEdge* e : it->second) {
        from += fmt::format("{}{} ({})", from.empty() ? "" : ", ", e->from, grouped(e->count));
      }
    }
    if (!from.empty()) title += "; from block " + from;
    out_ += "\n" + style_.paint(ran(b) ? Tone::title : Tone::dim, title) + "\n";
    for (std::size_t i = 0; i < b.insns.size(); ++i) {
      source_line(what_.sources[number][i]);
      const bool last = i + 1 == b.insns.size();
      insn(b.insns[i], last ? ways(number) : std::string());
    }
  }

  void source_line(const InsnSource& source) {
    if (source.line == 0 || (source.line == here_.line && source.file == here_.file)) return;
    here_ = source;
    std::string text = fmt::format("{}:{}", printable(last_component(source.file)), source.line);
    if (!source.inlined.empty()) text += fmt::format(" {} (inlined)", printable(source.inlined));
    const auto& lines = lines_[source.file];
    if (auto it = lines.find(source.line); it != lines.end()) text += "  " + it->second;
    text.erase(text.find_last_not_of(' ') + 1);
    out_ += style_.paint(Tone::dim, text) + "\n";
  }

  void insn(const GraphInsn& i, const std::string& note) {
    std::string text = fmt::format("{:>{}}  {:x}  {}{}", grouped(i.count), width_, i.address,
                                   printable(i.text), target_of(i));
    if (i.count == 0) text = style_.paint(Tone::dim, text);
    out_ += text + note + "\n";
  }

  // " <strlen>", if it leaves the function.
  std::string target_of(const GraphInsn& i) const {
    if (i.target == 0 || i.target - graph_.address < graph_.size) return "";
    const session::Place place = what_.session.names().place(graph_.space, i.target, graph_.time);
    return place.symbol.empty() ? "" : fmt::format(" <{}>", function_name(i.target, place));
  }

  // Where it went from a block's last instruction.
  std::string ways(std::uint32_t number) {
    const auto found = out_of_.find(number);
    if (found == out_of_.end()) return "";
    std::vector<const GraphEdge*> edges;
    for (const std::uint32_t e : found->second) edges.push_back(&graph_.edges[e]);
    if (edges.size() == 1 && edges[0]->kind == GraphEdge::Kind::next) return "";
    std::ranges::stable_sort(edges, std::ranges::greater{}, &GraphEdge::count);
    std::string out;
    for (const GraphEdge* e : edges | std::views::take(kMostTargets)) {
      const session::Place place =
          e->to == GraphEdge::kOutside
              ? what_.session.names().place(graph_.space, e->target, graph_.time)
              : session::Place();
      const std::string to = e->to == GraphEdge::kOutside ? function_name(e->target, place)
                                                          : fmt::format("block {}", e->to);
      out += fmt::format("{}{} ({})", out.empty() ? "  -> " : ", ", to, grouped(e->count));
    }
    if (edges.size() > kMostTargets) {
      out += fmt::format(" and {} more", edges.size() - kMostTargets);
    }
    return style_.paint(Tone::number, out);
  }

  const Annotated& what_;
  const FlowGraph& graph_;
  bool only_ran_;
  const Style& style_;
  std::string out_;
  std::map<std::string, std::map<std::uint32_t, std::string>> lines_;
  std::set<std::string> absent_;
  std::map<std::uint32_t, std::set<std::uint32_t>> out_of_;      // edges by block
  std::map<std::uint32_t, std::vector<const GraphEdge*>> into_;  // that ran
  std::uint64_t most_ = 0;
  std::size_t width_ = 0;
  InsnSource here_;
};

}  // namespace

Annotated::Annotated(const analyze::FlowGraph& of, const session::Session& in)
    : graph(of), session(in), program(in.names().object(of.space, of.address, of.time)) {
  for (const GraphBlock& block : graph.blocks) {
    std::vector<InsnSource>& out = sources.emplace_back();
    for (const GraphInsn& insn : block.insns) {
      const auto frames =
          session::source_of(session.names().object(graph.space, insn.address, graph.time));
      InsnSource& source = out.emplace_back();
      if (frames.empty() || frames[0].line == 0) continue;
      source.file = frames[0].file;
      source.line = frames[0].line;
      if (frames[0].inlined) source.inlined = frames[0].function;
    }
  }
}

std::string annotated_text(const Annotated& what, bool only_ran, const Style& style) {
  return Writer(what, only_ran, style).write();
}

}  // namespace hodo::view
