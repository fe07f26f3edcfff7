// Every call of a function.
#include "hodo/ask/calls.h"

#include "hodo/view/moments.h"
#include "methods.h"
#include "schema.h"

namespace hodo::serve {
namespace {

constexpr std::size_t kMostCalls = 1000;

view::CallOrder order_in(const Json& params) {
  const std::string word = text_in(params, "sort", "order");
  if (word == "duration") return view::CallOrder::duration;
  return word == "instructions" ? view::CallOrder::instructions : view::CallOrder::order;
}

Result<Json> answer_calls(Workspace& workspace, const Json& params) {
  auto selection = selection_in(workspace, params);
  if (!selection) return std::unexpected(selection.error());
  const ask::FindOptions how = workspace.find(*selection);
  auto list = ask::list_calls(workspace.session(), text_in(params, "function"),
                              {.walk = how.walk,
                               .slower_than = number_in(params, "slower_than_ns", 0),
                               .index = how.index});
  if (!list) return std::unexpected(list.error());
  const std::size_t rows = list->rows.size();
  const std::size_t most = number_in(params, "limit", kMostCalls);
  Json out =
      view::call_list_json(*list, workspace.session(), {.order = order_in(params), .most = most});
  const std::size_t shown = out["calls"].size();
  if (shown < rows) out["more"] = rows - shown;
  return out;
}

Json calls_parameters() {
  using namespace schema;
  return schema::parameters(
      {{"function", string("parse, ns::parse(int), libc.so.6!malloc")},
       {"thread", thread()},
       {"pid", pid()},
       {"slower_than_ns", number("only calls that took this long")},
       {"sort", one_of({"order", "duration", "instructions"},
                       "in the order of their beginning (default), or the largest first")},
       {"limit", number("how many; 0: all (1000)")}},
      {"function"});
}

Json calls_result() {
  using namespace schema;
  return object({{"functions", list(any(), "that the name stood for")},
                 {"count", number("of all their calls")},
                 {"left_out", number("calls that were not kept for want of room")},
                 {"total_time", number("nanoseconds in all of them")},
                 {"calls", list(any(),
                                "moment, until, pid, time, duration, instructions, function, "
                                "outcome, inlined, caller, site, line")},
                 {"more", number("calls that would be in the list but for its limit")},
                 {"losses", losses()}},
                {"functions", "count", "calls", "losses"});
}

}  // namespace

Method calls_method() {
  return {"calls", "Every call of a function, as hodo list --json.", calls_parameters, calls_result,
          answer_calls};
}

}  // namespace hodo::serve
