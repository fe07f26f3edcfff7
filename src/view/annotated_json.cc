// A function with its counts, for programs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "hodo/view/annotated.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

using Json = nlohmann::ordered_json;
using analyze::GraphEdge;

std::string_view name(GraphEdge::Kind kind) {
  switch (kind) {
    case GraphEdge::Kind::taken:
      return "taken";
    case GraphEdge::Kind::jump:
      return "jump";
    case GraphEdge::Kind::indirect:
      return "indirect";
    case GraphEdge::Kind::next:
      break;
  }
  return "next";
}

// What an address outside of this function is called: "puts@plt", "parse+0x10"; empty: unknown.
std::string name_outside(const Annotated& what, std::uint64_t address) {
  const analyze::FlowGraph& graph = what.graph;
  if (address - graph.address < graph.size) return "";
  const session::Place place = what.session.names().place(graph.space, address, graph.time);
  if (place.symbol.empty()) return "";
  std::string out = place.symbol + (place.stub ? "@plt" : "");
  if (place.offset != 0) out += fmt::format("+{:#x}", place.offset);
  return out;
}

// The count of its most executed instruction, by source line.
using LineCounts = std::map<std::pair<std::string, std::uint32_t>, std::uint64_t>;

Json insns_json(const Annotated& what, std::size_t block, LineCounts& lines) {
  Json out = Json::array();
  const auto& insns = what.graph.blocks[block].insns;
  for (std::size_t i = 0; i < insns.size(); ++i) {
    Json insn{{"address", hex(insns[i].address)},
              {"offset", insns[i].address - what.graph.address},
              {"count", insns[i].count},
              {"text", insns[i].text}};
    if (insns[i].target != 0) {
      insn["target"] = hex(insns[i].target);
      std::string function = name_outside(what, insns[i].target);
      if (!function.empty()) insn["target_function"] = std::move(function);
    }
    const InsnSource& source = what.sources[block][i];
    if (source.line != 0) {
      insn["file"] = source.file;
      insn["line"] = source.line;
      std::uint64_t& most = lines[{source.file, source.line}];
      most = std::max(most, insns[i].count);
    }
    if (!source.inlined.empty()) insn["inlined"] = source.inlined;
    out.push_back(std::move(insn));
  }
  return out;
}

}  // namespace

Json annotated_json(const Annotated& what, bool only_ran) {
  const analyze::FlowGraph& graph = what.graph;
  Json out{{"function", graph.function},
           {"object", graph.object},
           {"address", hex(graph.address)},
           {"size", graph.size},
           {"undecoded", graph.undecoded},
           {"entered", graph.blocks.empty() ? 0 : graph.blocks[0].count}};
  LineCounts lines;
  std::vector<Json> ways(graph.blocks.size(), Json::array());
  for (const GraphEdge& e : graph.edges) {
    Json way{{"kind", name(e.kind)}, {"count", e.count}, {"address", hex(e.target)}};
    if (e.to != GraphEdge::kOutside) {
      way["block"] = e.to;
    } else if (std::string function = name_outside(what, e.target); !function.empty()) {
      way["function"] = std::move(function);
    }
    ways[e.from].push_back(std::move(way));
  }
  Json& blocks = out["blocks"] = Json::array();
  for (std::size_t i = 0; i < graph.blocks.size(); ++i) {
    const auto& block = graph.blocks[i];
    Json insns = insns_json(what, i, lines);
    const bool ran = std::ranges::any_of(block.insns, [](const auto& n) { return n.count != 0; });
    if (only_ran && !ran) continue;
    blocks.push_back({{"number", i},
                      {"address", hex(block.insns[0].address)},
                      {"count", block.count},
                      {"instructions", std::move(insns)},
                      {"to", std::move(ways[i])}});
  }
  Json& by_line = out["lines"] = Json::array();
  for (const auto& [where, count] : lines) {
    if (only_ran && count == 0) continue;
    by_line.push_back({{"file", where.first}, {"line", where.second}, {"count", count}});
  }
  return out;
}

}  // namespace hodo::view
