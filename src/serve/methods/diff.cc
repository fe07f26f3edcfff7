// Where this recording and another one, or two parts, go different ways.
#include <algorithm>
#include <optional>

#include "hodo/serve/diffs.h"
#include "methods.h"
#include "schema.h"

namespace hodo::serve {
namespace {

// Both or none of two members.
Result<std::vector<std::string>> two_of(const Json& params, const char* first, const char* second) {
  std::vector<std::string> out;
  for (const char* name : {first, second}) {
    if (params.contains(name)) out.push_back(text_in(params, name));
  }
  if (out.size() == 1) {
    return fail(ErrorCode::usage,
                std::string("params need both '") + first + "' and '" + second + "'");
  }
  return out;
}

Result<DiffInput> diff_input(const Json& params) {
  DiffInput out{.top = number_in(params, "top", 20)};
  auto calls = two_of(params, "call", "other_call");
  if (!calls) return std::unexpected(calls.error());
  out.calls = std::move(*calls);
  auto threads = two_of(params, "thread", "other_thread");
  if (!threads) return std::unexpected(threads.error());
  for (const std::string& text : *threads) {
    auto thread = thread_named(text);
    if (!thread) return std::unexpected(thread.error());
    if (thread->tid < 0) return fail(ErrorCode::usage, "threads of bare traces cannot be compared");
    out.threads.push_back(thread->tid);
  }
  if (!out.calls.empty() && !out.threads.empty()) {
    return fail(ErrorCode::usage, "params have two calls or two threads, not both");
  }
  if (out.calls.empty() && out.threads.empty() && !params.contains("other")) {
    return fail(ErrorCode::usage, "params need 'other', two calls or two threads");
  }
  return out;
}

Result<Json> answer_diff(Workspace& workspace, const Json& params) {
  auto input = diff_input(params);
  if (!input) return std::unexpected(input.error());
  std::unique_ptr<session::Session> opened;
  const std::string path = text_in(params, "other", workspace.options().input.path);
  if (params.contains("other")) {
    auto other = workspace.open_other(path);
    if (!other) return std::unexpected(other.error());
    opened = std::move(*other);
  }
  const auto progress = workspace.walk().progress;
  auto a = run_of(workspace.session(), workspace.options().input.path, progress);
  if (!a) return std::unexpected(a.error());
  auto b = opened ? run_of(*opened, path, progress) : a;
  if (!b) return std::unexpected(b.error());
  auto diff = diff_of(*a, *b, *input, progress);
  if (!diff) return std::unexpected(diff.error());
  return view::diff_json(*diff);
}

Json diff_parameters() {
  using namespace schema;
  return schema::parameters(
      {{"other", string("the other recording (this one, with two calls or threads)")},
       {"call", string("compare this call, parse#17")},
       {"other_call", string("with this one of the other recording")},
       {"thread", thread()},
       {"other_thread", string("compare `thread` with this one of the other recording")},
       {"top", number("differences to tell (20)", 1)}});
}

Json diff_result() {
  using namespace schema;
  return object({{"paths", list(any(), "that were compared, with where they part and meet")},
                 {"unpaired", list(string(""), "threads without a counterpart")},
                 {"notes", list(string(""), "what the comparison rests on")},
                 {"complete", flag("nothing was lost, and all that ran could be compared")},
                 {"differences", list(any(), "what only one did, or not equally often")}},
                {"paths"});
}

}  // namespace

Method diff_method() {
  return {"diff",
          "Where two recordings, calls or threads part and meet again, as hodo diff --json.",
          diff_parameters, diff_result, answer_diff};
}

}  // namespace hodo::serve
