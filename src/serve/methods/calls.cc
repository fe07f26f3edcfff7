// Every call of a function.
#include "hodo/ask/calls.h"

#include <algorithm>

#include "hodo/view/moments.h"
#include "methods.h"
#include "schema.h"

namespace hodo::serve {
namespace {

constexpr std::size_t kMostCalls = 1000;

ask::CallOrder order_in(const Json& params) {
  const std::string word = text_in(params, "sort", "order");
  if (word == "latest") return ask::CallOrder::latest;
  if (word == "duration") return ask::CallOrder::duration;
  return word == "instructions" ? ask::CallOrder::instructions : ask::CallOrder::order;
}

Result<Json> answer_calls(Workspace& workspace, const Json& params) {
  auto selection = selection_in(workspace, params);
  if (!selection) return std::unexpected(selection.error());
  const ask::FindOptions how = workspace.find(*selection);
  const std::size_t most = number_in(params, "limit", kMostCalls);
  auto list =
      ask::list_calls(workspace.session(), text_in(params, "function"),
                      {.walk = how.walk,
                       .slower_than = number_in(params, "slower_than_ns", 0),
                       .order = order_in(params),
                       .most = most == 0 ? ask::kMostCallRows : std::min(most, ask::kMostCallRows),
                       .index = how.index});
  if (!list) return std::unexpected(list.error());
  Json out = view::call_list_json(*list, workspace.session());
  if (list->left_out != 0) out["more"] = list->left_out;
  return out;
}

Json calls_parameters() {
  using namespace schema;
  return schema::parameters(
      {{"function", string("parse, ns::parse(int), libc.so.6!malloc")},
       {"thread", thread()},
       {"pid", pid()},
       {"slower_than_ns", number("only calls that took this long")},
       {"sort",
        one_of({"order", "latest", "duration", "instructions"},
               "in the order of their beginning (default), the latest or the largest first")},
       {"limit", number("how many; 0: all (1000)")}},
      {"function"});
}

Json calls_result() {
  using namespace schema;
  return object({{"functions", list(any(), "that the name stood for")},
                 {"count", number("of all their calls")},
                 {"left_out", number("as more; 0: none")},
                 {"unknown", string("of calls that were inlined: what is missing to know them")},
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
