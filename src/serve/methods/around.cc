// Where an address, line or function is executed next, or was last.
#include "hodo/ask/navigate.h"
#include "hodo/serve/scenes.h"
#include "methods.h"
#include "schema.h"

namespace hodo::serve {
namespace {

Result<Json> answer_around(Workspace& workspace, const Json& params) {
  const auto what = one_in(params, {"address", "line", "function"});
  if (!what) return std::unexpected(what.error());
  const ask::FindOptions how = workspace.find();
  auto from = ask::find_moment(workspace.session(), text_in(params, "at"), how);
  if (!from) return std::unexpected(from.error());
  auto moment =
      ask::occurrence_from(workspace.session(), *from, wanted_by(*what),
                           text_in(params, "direction") == "next", how.walk.progress, how.index);
  if (!moment) return std::unexpected(moment.error());
  return Json{{"moment", ask::to_string(*moment)}};
}

Json around_parameters() {
  using namespace schema;
  return schema::parameters({{"at", moment("from where")},
                             {"address", string("0x401136, or SYMBOL+0x10")},
                             {"line", string("FILE:LINE")},
                             {"function", string("where it is entered")},
                             {"direction", one_of({"next", "previous"}, "forward or back")}},
                            {"at", "direction"});
}

Json around_result() {
  using namespace schema;
  return object({{"moment", moment("of the same thread")}}, {"moment"});
}

}  // namespace

Method around_method() {
  return {"around",
          "The next or the last time that a thread comes to an address, line or function.",
          around_parameters, around_result, answer_around};
}

}  // namespace hodo::serve
