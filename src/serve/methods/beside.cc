// What can be asked while a question is being answered.
#include "methods.h"
#include "schema.h"

namespace hodo::serve {
namespace {

Result<Json> answer_progress(Workspace& workspace, const Json&) {
  const Progress now = workspace.progress();
  return Json{{"id", now.question.empty() ? Json(nullptr) : Json(now.question)},
              {"what", now.what},
              {"done", now.done},
              {"total", now.total}};
}

Json progress_result() {
  using namespace schema;
  return object({{"id", optional(string("of the question that is being answered; null: none is"))},
                 {"what", string("is being done")},
                 {"done", number("so much of `total`")},
                 {"total", number("0: not known yet")}},
                {"id", "what", "done", "total"});
}

Result<Json> answer_schema(Workspace&, const Json&) { return all_methods(); }

Json schema_result() {
  using namespace schema;
  return object({{"methods", list(object({{"name", string("")},
                                          {"summary", string("")},
                                          {"params", any("JSON Schema")},
                                          {"result", any("JSON Schema")}},
                                         {"name", "summary", "params", "result"}))}},
                {"methods"});
}

}  // namespace

Method progress_method() {
  return {"progress",
          "How far the question that is being answered has come; is answered beside it.",
          schema::no_parameters,
          progress_result,
          answer_progress,
          true};
}
Method schema_method() {
  return {"schema",
          "All methods with the shape of their parameters and answers.",
          schema::no_parameters,
          schema_result,
          answer_schema,
          true};
}

}  // namespace hodo::serve
