#include "methods.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>

#include "hodo/analyze/function_name.h"
#include "hodo/view/text.h"
#include "method_errors.h"
#include "schema.h"

namespace hodo::serve {

std::span<const Method> methods() {
  static const std::array all{info_method(),  reopen_method(),   moment_method(), scene_method(),
                              part_method(),  around_method(),   calls_method(),  tile_method(),
                              steps_method(), flame_method(),    tree_method(),   code_method(),
                              graph_method(), findings_method(), ends_method(),   report_method(),
                              stats_method(), coverage_method(), diff_method(),   search_method(),
                              notes_method(), progress_method(), schema_method()};
  return all;
}

const Method* find_method(std::string_view name) {
  const auto all = methods();
  const auto it = std::ranges::find(all, name, &Method::name);
  return it == all.end() ? nullptr : &*it;
}

Error no_such_method(const std::string& name) {
  std::vector<std::string> names;
  for (const Method& method : methods()) names.emplace_back(method.name);
  const std::string like = analyze::suggestion(name, names);
  return {ErrorCode::not_found,
          fmt::format("there is no method '{}'{}; remedy: the method 'schema' lists all",
                      view::fit(name, 60), like)};
}

Status check_params(const Method& method, const Json& params) {
  return schema::check(method.parameters(), params);
}

Result<Json> answer_of(const Method& method, Workspace& workspace, const Json& params) {
  if (!method.beside) {
    if (Status good = workspace.recover(); !good) return std::unexpected(good.error());
  }
  return method.answer(workspace, params);
}

Result<std::string> within_memory(Workspace& workspace,
                                  const std::function<Result<std::string>()>& answer) {
  try {
    return answer();
  } catch (const std::bad_alloc&) {
    workspace.distrust();
  }
  return fail(
      ErrorCode::no_space,
      "there is not enough memory for the answer; remedy: ask for less (a part, a thread, a "
      "smaller limit), or let hodo have more memory (ulimit -v)");
}

Result<Json> ask(Workspace& workspace, std::string_view name, const Json& params, bool has_turn) {
  const Method* method = find_method(name);
  if (method == nullptr) return std::unexpected(no_such_method(std::string(name)));
  const Json given = params.is_null() ? Json::object() : params;
  if (Status fits = check_params(*method, given); !fits) return std::unexpected(fits.error());
  if (method->beside || has_turn) return answer_of(*method, workspace, given);
  const std::scoped_lock turn(workspace.turn());
  return answer_of(*method, workspace, given);
}

Json all_methods() {
  Json all = Json::array();
  for (const Method& method : methods()) {
    all.push_back({{"name", method.name},
                   {"summary", method.summary},
                   {"params", method.parameters()},
                   {"result", method.result()}});
  }
  return {{"methods", std::move(all)}};
}

std::string text_in(const Json& params, const char* name, std::string otherwise) {
  const auto it = params.find(name);
  return it == params.end() ? std::move(otherwise) : it->get<std::string>();
}

Result<std::string> one_in(const Json& params, std::initializer_list<const char*> names) {
  std::string out;
  std::size_t given = 0;
  for (const char* name : names) {
    const std::string text = text_in(params, name);
    given += text.empty() ? 0 : 1;
    if (!text.empty()) out = text;
  }
  if (given == 1) return out;
  return fail(ErrorCode::usage,
              fmt::format("params need {} of '{}'", given == 0 ? "one" : "only one",
                          fmt::join(names, "', '")));
}

std::uint64_t number_in(const Json& params, const char* name, std::uint64_t otherwise) {
  const auto it = params.find(name);
  if (it == params.end()) return otherwise;
  if (!it->is_number_float()) return it->get<std::uint64_t>();
  const double value = it->get<double>();
  constexpr double kMost = 9e15;  // schema::check has seen to it that it is not negative
  return value < kMost ? static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(kMost);
}

bool flag_in(const Json& params, const char* name) {
  const auto it = params.find(name);
  return it != params.end() && it->get<bool>();
}

Result<ask::ThreadId> thread_named(const std::string& text) {
  const bool queue = text.starts_with('q');
  std::uint32_t value = 0;
  const char* const first = text.data() + (queue ? 1 : 0);
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(first, last, value);
  if (error != std::errc() || end != last || value > 0x7fffffff) {
    return fail(ErrorCode::usage, fmt::format("'{}' is no thread; 'info' lists them, as 4242 or q0",
                                              view::fit(text, 60)));
  }
  if (queue) return ask::ThreadId{.queue = value};
  return ask::ThreadId{.tid = static_cast<std::int32_t>(value)};
}

Result<std::optional<ask::ThreadId>> thread_in(const Json& params) {
  const std::string text = text_in(params, "thread");
  if (text.empty()) return std::nullopt;
  return thread_named(text);
}

Result<session::Selection> selection_in(Workspace& workspace, const Json& params) {
  auto thread = thread_in(params);
  if (!thread) return std::unexpected(thread.error());
  session::Selection out;
  if (*thread) out = ask::only(**thread);
  const auto queues = workspace.session().queues();
  if (*thread && (*thread)->tid < 0 &&
      ((*thread)->queue >= queues.size() || queues[(*thread)->queue].tid >= 0)) {
    return fail(ErrorCode::not_found,
                fmt::format("no thread {} is in the recording; 'info' lists those that are",
                            ask::to_string(**thread)));
  }
  if (params.contains("pid")) {
    out.pid =
        static_cast<std::int32_t>(std::min<std::uint64_t>(number_in(params, "pid", 0), 0x7fffffff));
  }
  if (Status status = selects_somebody(workspace.session(), out); !status) {
    return std::unexpected(status.error());
  }
  return out;
}

WindowInput window_in(const Json& params) {
  return {.from = text_in(params, "from"),
          .to = text_in(params, "to"),
          .last = number_in(params, "last", 0),
          .call = text_in(params, "call")};
}

Result<FunctionGraph> graph_in(Workspace& workspace, const Json& params,
                               const std::string& function) {
  const std::string module = text_in(params, "module");
  bool all = true;
  for (const char* const part : {"thread", "pid", "from", "to", "last", "call"}) {
    all = all && !params.contains(part);
  }
  if (all) {
    auto counted = workspace.counted();
    if (!counted) return std::unexpected(counted.error());
    return function_graph((*counted)->outcome, *(*counted)->counts, workspace.session(), function,
                          module);
  }
  auto selection = selection_in(workspace, params);
  if (!selection) return std::unexpected(selection.error());
  return function_graph(workspace.session(), window_in(params), workspace.find(*selection),
                        function, module);
}

Json graph_parameters() {
  using namespace schema;
  return schema::parameters({{"function", string("parse, ns::parse(int)")},
                             {"address", string("an address in it, 0x401136")},
                             {"module", string("of a file whose path contains this")},
                             {"call", string("count only this call, parse#17")},
                             {"from", moment("count from this moment on")},
                             {"to", moment("count up to this moment")},
                             {"thread", thread()},
                             {"pid", pid()}});
}

namespace schema {

Json thread() { return string("a thread, as info names it: 4242, or q0 in a bare trace"); }
Json pid() { return number("a process"); }
Json moment(std::string_view description) { return string(description); }
Json losses() {
  return list(object({{"cause", string("a word for programs")},
                      {"count", number("how often")},
                      {"bytes", number("of trace that was not decoded")},
                      {"remedy", string("what one can do about it")},
                      {"sites", list(any(), "where, the first ones")}},
                     {"cause", "count"}),
              "what the answer could not be made from");
}
Json growing() {
  Json out = object({{"bytes", number("of the file")}, {"duration_ns", number("of what it holds")}},
                    {"bytes", "duration_ns"});
  out["description"] = "it is still being recorded, and this is of so much of it";
  return out;
}

}  // namespace schema

}  // namespace hodo::serve
