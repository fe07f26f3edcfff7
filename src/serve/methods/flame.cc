// What call paths cost: as a flame graph, and level by level.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "call_paths.h"
#include "details.h"
#include "hodo/analyze/function_name.h"
#include "hodo/view/losses.h"
#include "methods.h"
#include "overview.h"
#include "schema.h"

namespace hodo::serve {
namespace {

constexpr std::uint64_t kPrunedShare = 5000;  // nodes below one in so many are left out

struct Asked {
  CallPaths paths;
  std::vector<session::LossLine> losses;
};

// The range that is asked for; nullopt: all.
Result<std::optional<Range>> range_in(const Workspace& workspace, const Json& params) {
  if (!params.contains("from") && !params.contains("to")) return std::optional<Range>();
  Range out;
  const bool time = text_in(params, "axis", "time") == "time";
  out.axis = time ? analyze::SliceAxis::time : analyze::SliceAxis::instructions;
  const std::uint64_t zero = time ? workspace.start() : 0;
  out.from = number_in(params, "from", 0) + zero;
  if (params.contains("to")) out.to = number_in(params, "to", 0) + zero;
  if (!time && text_in(params, "thread").empty()) {
    return fail(ErrorCode::usage, "a range of instructions is one thread's: params need 'thread'");
  }
  if (out.to < out.from) return fail(ErrorCode::usage, "params.to lies before params.from");
  return std::optional(out);
}

Result<Asked> asked(Workspace& workspace, const Json& params) {
  auto selection = selection_in(workspace, params);
  if (!selection) return std::unexpected(selection.error());
  const std::optional<ask::ThreadId> thread = *thread_in(params);
  const std::optional<std::int32_t> pid = selection->pid;
  const auto wanted = [&](const ThreadTotal& total) {
    return (!thread || total.thread == *thread) && (!pid || total.pid == *pid);
  };
  // Also says where time begins.
  auto overview = workspace.overview();
  if (!overview) return std::unexpected(overview.error());
  const bool known =
      std::ranges::any_of((*overview)->lanes, [&](const Lane& lane) { return wanted(lane.total); });
  if (thread && !known) {
    return fail(ErrorCode::not_found,
                fmt::format("nothing of a thread {} is in the recording", ask::to_string(*thread)));
  }
  auto range = range_in(workspace, params);
  if (!range) return std::unexpected(range.error());
  if (!*range) {
    return Asked{paths_of((*overview)->lanes, (*overview)->names, wanted), (*overview)->losses};
  }
  const ask::IndexedRecording* index = thread ? workspace.index() : nullptr;
  auto part = stacks_of(workspace.session(), workspace.walk(*selection), index, thread, **range);
  if (!part) return std::unexpected(part.error());
  if (pid && index != nullptr) {
    for (Lane& lane : part->lanes) lane.total.pid = *pid;
  }
  return Asked{paths_of(part->lanes, part->names, wanted), std::move(part->losses)};
}

// The tree with the stacks that are wanted, the right way round.
CallPaths shaped(CallPaths paths, const Json& params) {
  const std::string name = text_in(params, "function");
  std::optional<analyze::FunctionName> function;
  if (!name.empty()) function.emplace(name);
  const auto meant = [&](const SliceName& one) {
    return function->means({.name = one.name, .object = one.object});
  };
  if (flag_in(params, "invert")) {
    return inverted(paths, function ? std::function<bool(const SliceName&)>(meant) : nullptr);
  }
  return function ? through(paths, meant) : std::move(paths);
}

enum class By : std::uint8_t { instructions, time, calls };
By by_in(const Json& params) {
  const std::string word = text_in(params, "by", "instructions");
  return word == "time" ? By::time : word == "calls" ? By::calls : By::instructions;
}
std::uint64_t of(const Weight& weight, By by) {
  switch (by) {
    case By::time:
      return weight.time;
    case By::calls:
      return weight.calls;
    case By::instructions:
      break;
  }
  return weight.instructions;
}

// Calls are of a node and all below it, where calls are what is asked for.
std::vector<std::uint64_t> totals_of(const CallPaths& paths, By by) {
  std::vector<std::uint64_t> out;
  out.reserve(paths.nodes.size());
  for (const PathNode& node : paths.nodes) {
    out.push_back(of(by == By::calls ? node.self : node.total, by));
  }
  if (by != By::calls) return out;
  for (std::size_t i = out.size(); i-- > 1;) out[paths.nodes[i].parent] += out[i];
  return out;
}

Result<Json> answer_flame(Workspace& workspace, const Json& params) {
  Workspace* of_whom = &workspace;
  if (params.contains("other")) {
    auto other = workspace.other(text_in(params, "other"));
    if (!other) return std::unexpected(other.error());
    of_whom = *other;
  }
  auto all = asked(*of_whom, params);
  if (!all) return std::unexpected(all.error());
  const CallPaths paths = shaped(std::move(all->paths), params);
  const By by = by_in(params);
  const std::vector<std::uint64_t> totals = totals_of(paths, by);
  const std::uint64_t least = totals[0] / kPrunedShare;
  std::vector<std::int64_t> place(paths.nodes.size(), -1);
  std::map<std::uint32_t, std::size_t> numbers;
  Json names = Json::array(), nodes = Json::array();
  std::uint64_t pruned = 0, pruned_total = 0;
  for (std::size_t i = 0; i < paths.nodes.size(); ++i) {
    const PathNode& node = paths.nodes[i];
    if (i != 0 && (place[node.parent] < 0 || totals[i] < least)) {
      ++pruned;
      if (place[node.parent] >= 0) pruned_total += totals[i];
      continue;
    }
    Json name = -1;
    if (i != 0) {
      const auto [it, fresh] = numbers.try_emplace(node.name, names.size());
      if (fresh) {
        names.push_back(
            {{"name", paths.names[node.name].name}, {"object", paths.names[node.name].object}});
      }
      name = it->second;
    }
    const std::int64_t parent = i == 0 ? -1 : place[node.parent];
    place[i] = static_cast<std::int64_t>(nodes.size());
    nodes.push_back(Json::array({name, parent, of(node.self, by), totals[i], node.total.calls}));
  }
  Json out{{"unit", text_in(params, "by", "instructions")},
           {"total", totals[0]},
           {"names", std::move(names)},
           {"nodes", std::move(nodes)},
           {"pruned", {{"nodes", pruned}, {"total", pruned_total}}},
           {"other", of(all->paths.other, by)}};
  out["losses"] = view::losses_json(all->losses, of_whom->session().clock());
  return out;
}

Json range_parameters(Json more) {
  using namespace schema;
  Json out = schema::parameters(
      {{"thread", thread()},
       {"pid", pid()},
       {"axis", one_of({"time", "instructions"}, "what from and to count (time)")},
       {"from", real("nanoseconds since the recording's first time, or instructions (all)")},
       {"to", real("the same (all)")}});
  for (const auto& [name, what] : more.items()) out["properties"][name] = what;
  return out;
}

Json flame_parameters() {
  using namespace schema;
  return range_parameters(
      {{"by", one_of({"instructions", "time", "calls"}, "what widths stand for (instructions)")},
       {"function", string("only stacks through this function, from its outermost call inwards")},
       {"invert", flag("callers below; with function: who called it, else from each function out")},
       {"other", string("of this recording instead, to compare with")}});
}

Json flame_result() {
  using namespace schema;
  return object(
      {{"unit", string("as `by`")},
       {"total", number("of the root")},
       {"names", list(object({{"name", string("a function")}, {"object", string("its file")}},
                             {"name", "object"}))},
       {"nodes", list(any(),
                      "[name, parent, self, total, calls]: name is an index in names, parent "
                      "an index in nodes that comes before; the first one is the root, with "
                      "-1 for both")},
       {"pruned", object({{"nodes", number("that are left out: below 0.02 % of the total")},
                          {"total", number("of these, counted in the nodes above them")}},
                         {"nodes", "total"})},
       {"other", number("in paths beyond a million different ones, in no node")},
       {"losses", losses()}},
      {"unit", "total", "names", "nodes", "pruned", "losses"});
}

// Where a path of names leads; nullopt: nowhere.
std::optional<std::uint32_t> node_at(const CallPaths& paths, const Json& params) {
  std::uint32_t at = 0;
  if (!params.contains("path")) return at;
  for (const Json& one : params["path"]) {
    const auto step = one.get<std::string>();
    std::optional<std::uint32_t> next;
    for (std::uint32_t i = at + 1; i < paths.nodes.size() && !next; ++i) {
      if (paths.nodes[i].parent == at && paths.names[paths.nodes[i].name].name == step) next = i;
    }
    if (!next) return std::nullopt;
    at = *next;
  }
  return at;
}

Result<Json> answer_tree(Workspace& workspace, const Json& params) {
  auto all = asked(workspace, params);
  if (!all) return std::unexpected(all.error());
  const CallPaths paths = shaped(std::move(all->paths), params);
  const auto node = node_at(paths, params);
  if (!node) return fail(ErrorCode::not_found, "no call path of these names ran");
  std::vector<bool> leads_on(paths.nodes.size(), false);
  std::vector<std::uint32_t> children;
  for (std::uint32_t i = 1; i < paths.nodes.size(); ++i) {
    leads_on[paths.nodes[i].parent] = true;
    if (paths.nodes[i].parent == *node) children.push_back(i);
  }
  const By by = by_in(params);
  std::ranges::stable_sort(children, std::ranges::greater{},
                           [&](std::uint32_t i) { return of(paths.nodes[i].total, by); });
  const std::size_t limit = number_in(params, "limit", 1000);
  Json found = Json::array();
  for (const std::uint32_t i : std::span(children).first(std::min(limit, children.size()))) {
    const PathNode& one = paths.nodes[i];
    found.push_back({{"name", paths.names[one.name].name},
                     {"object", paths.names[one.name].object},
                     {"calls", one.self.calls},
                     {"instructions", one.total.instructions},
                     {"time_ns", one.total.time},
                     {"self_instructions", one.self.instructions},
                     {"self_time_ns", one.self.time},
                     {"children", static_cast<bool>(leads_on[i])},
                     {"first", ask::to_string(one.first)}});
  }
  const Weight& total = paths.nodes[0].total;
  Json out{{"children", std::move(found)},
           {"more", children.size() - std::min(limit, children.size())},
           {"total", {{"instructions", total.instructions}, {"time_ns", total.time}}}};
  out["losses"] = view::losses_json(all->losses, workspace.session().clock());
  return out;
}

Json tree_parameters() {
  using namespace schema;
  return range_parameters(
      {{"path",
        list(string("a function"), "names from a thread's first call on (none: those calls)")},
       {"by", one_of({"instructions", "time", "calls"}, "the largest first (instructions)")},
       {"function", string("only stacks through this function, from its outermost call inwards")},
       {"invert", flag("callers below")},
       {"limit", number("how many (1000)", 1)}});
}

Json tree_result() {
  using namespace schema;
  Json child = object({{"name", string("a function")},
                       {"object", string("its file")},
                       {"calls", number("times that the path was entered")},
                       {"instructions", number("with all below")},
                       {"time_ns", number("with all below")},
                       {"self_instructions", number("in the function itself")},
                       {"self_time_ns", number("in the function itself")},
                       {"children", flag("it called others")},
                       {"first", moment("where the path was entered first")}},
                      {"name", "object", "calls", "instructions", "time_ns", "self_instructions",
                       "children", "first"});
  return object(
      {{"children", list(std::move(child), "of the node at the path")},
       {"more", number("children that are left out")},
       {"total", object({{"instructions", number("of all")}, {"time_ns", number("of all")}})},
       {"losses", losses()}},
      {"children", "more", "total", "losses"});
}

}  // namespace

Method flame_method() {
  return {"flame", "What call paths cost, as a flame graph, of all or of a part.", flame_parameters,
          flame_result, answer_flame};
}
Method tree_method() {
  return {"tree", "The calls below one call path, with what they cost.", tree_parameters,
          tree_result, answer_tree};
}

}  // namespace hodo::serve
