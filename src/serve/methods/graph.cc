// A function's control flow graph as a picture.
#include <fmt/format.h>

#include "hodo/export/formats.h"
#include "hodo/serve/covering.h"
#include "hodo/serve/graphviz.h"
#include "hodo/view/losses.h"
#include "methods.h"
#include "schema.h"

namespace hodo::serve {
namespace {

constexpr unsigned kSeconds = 20;          // that a layout may take
constexpr std::size_t kMostBlocks = 3000;  // no layout of more is ready by then

// What hodo export --to cfg-dot writes, with an id for each block.
std::string dot_of(const analyze::FlowGraph& graph, const session::Session& session) {
  std::string out = exports::find(exports::graph_formats(), "cfg-dot")
                        ->write(graph, session, exports::NeverRun::drawn);
  std::string ids;
  for (std::size_t i = 0; i < graph.blocks.size(); ++i) {
    ids += fmt::format("  b{} [id=\"b-{:#x}\"];\n", i, graph.blocks[i].insns[0].address);
  }
  return out.insert(out.rfind('}'), ids);
}

Result<Json> answer_graph(Workspace& workspace, const Json& params) {
  const auto function = one_in(params, {"function", "address"});
  if (!function) return std::unexpected(function.error());
  auto counted = graph_in(workspace, params, *function);
  if (!counted) return std::unexpected(counted.error());
  if (counted->graph.blocks.size() > kMostBlocks) {
    return fail(ErrorCode::no_space,
                fmt::format("the graph has {} blocks, too many to lay out at once; remedy: hodo "
                            "export --to cfg-dot writes it",
                            counted->graph.blocks.size()));
  }
  workspace.begin("laying out the graph");
  auto svg = svg_of(dot_of(counted->graph, workspace.session()), kSeconds);
  if (!svg) return std::unexpected(svg.error());
  return Json{{"function", counted->graph.function},
              {"svg", std::move(*svg)},
              {"losses", view::losses_json(counted->losses, workspace.session().clock())}};
}

Json graph_result() {
  using namespace schema;
  return object({{"function", string("its name")},
                 {"svg", string("the picture; a block's group has the id b-ADDRESS")},
                 {"losses", losses()}},
                {"function", "svg", "losses"});
}

}  // namespace

Method graph_method() {
  return {"graph", "A function's control flow graph with counts, laid out by Graphviz as SVG.",
          graph_parameters, graph_result, answer_graph};
}

}  // namespace hodo::serve
