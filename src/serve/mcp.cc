#include "hodo/serve/mcp.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "bounded.h"
#include "hodo/serve/rpc.h"
#include "hodo/view/text.h"
#include "method_errors.h"
#include "wording.h"

namespace hodo::serve {
namespace {

// A method under a name and with words that say when it is of use.
struct Tool {
  std::string_view name;
  std::string_view method;
  std::string_view description;
  std::string_view defaults;  // JSON: params where none are given
};

constexpr std::array kTools{
    Tool{
        "recording", "info",
        "What was recorded: command, processes and threads, how much they ran, what of the trace is "
        "missing. Start here.",
        "{}"},
    Tool{
        "ends", "ends",
        "How each process ended. For a crash: the instruction, the open calls with source lines, what "
        "ran last. The first scene's moment can be given to 'show'.",
        R"({"around": 6})"},
    Tool{"report", "report", "Hottest functions and branches, processes by what they executed.",
         R"({"top": 15})"},
    Tool{
        "show", "scene",
        "One moment of a thread: where it stands, open calls, source, instructions and branches around "
        "it, and the moments that single steps lead to, back and forward.",
        R"({"around": 6})"},
    Tool{
        "calls", "calls",
        "Every call of a function: moment, duration, instructions, caller, outcome. With sort: the "
        "latest or the slowest first.",
        R"({"limit": 30})"},
    Tool{
        "call_tree", "tree",
        "What was called below a call path (`path`: names from the outermost call on), with counts, "
        "instructions and time; function and invert: who called it.",
        R"({"limit": 25})"},
    Tool{"code", "code",
         "A function's source and instructions with how often each ran, in all or in one call.",
         "{}"},
    Tool{
        "next", "around",
        "From a moment, the next or the previous time that its thread comes to an address, line or "
        "function.",
        "{}"},
    Tool{"search", "search", "Functions, source files, lines, addresses and processes by name.",
         R"({"limit": 25})"},
    Tool{"diff", "diff",
         "Where two recordings, two calls or two threads go different ways, and what only one did.",
         R"({"top": 15})"},
};
static_assert(kTools.size() <= 10);

constexpr std::string_view kInstructions =
    "A recording holds every branch that a program took, so questions about what it did are answered "
    "exactly, not by samples. A moment is a place on a thread's path: '4242:1700+3', or as words "
    "crash, end, call:parse#17, line:foo.cc:42#2, at:0x401136. Answers are cut to a readable length: "
    "'left_out' says how much is not shown, 'losses' what the recording itself does not know.";

Json tool_json(const Tool& tool) {
  const Method* method = find_method(tool.method);
  return {{"name", tool.name},
          {"description", tool.description},
          {"inputSchema", method->parameters()},
          {"annotations", {{"readOnlyHint", true}}}};
}

Json content(const std::string& words, bool is_error) {
  return {{"content", Json::array({{{"type", "text"}, {"text", words}}})}, {"isError", is_error}};
}

// Which tool a call is of. Errors: usage, with the tools that there are.
Result<const Tool*> tool_named(const Json& params) {
  const Json name = params.is_object() && params.contains("name") ? params["name"] : Json(nullptr);
  const auto tool =
      std::ranges::find(kTools, name.is_string() ? name.get<std::string>() : "", &Tool::name);
  if (tool != kTools.end()) return &*tool;
  std::string all;
  for (const Tool& one : kTools) all += (all.empty() ? "" : ", ") + std::string(one.name);
  if (!name.is_string()) {
    return fail(ErrorCode::usage, fmt::format("tools/call needs a tool's 'name': {}", all));
  }
  return fail(ErrorCode::usage,
              fmt::format("there is no tool '{}'; there are {}",
                          view::printable(view::fit(name.get<std::string>(), 60)), all));
}

// Null: it was given up.
Result<Json> call_tool(Workspace& workspace, const Json& params, const Json& id,
                       const Asker& asker) {
  const auto named = tool_named(params);
  if (!named) return std::unexpected(named.error());
  const Tool* const tool = *named;
  Json arguments = Json::parse(tool->defaults);
  if (const auto given = params.find("arguments"); given != params.end() && !given->is_null()) {
    if (!given->is_object()) return fail(ErrorCode::usage, "'arguments' is to be an object");
    for (const auto& [key, value] : given->items()) arguments[key] = value;
  }
  // What is wrong with the question is for who asked, the model.
  const Turn turn(workspace, id, asker);
  if (turn.given_up()) return Json(nullptr);
  auto answer = within_memory(workspace, [&]() -> Result<std::string> {
    auto said = ask(workspace, tool->method, arguments, true);
    if (!said) return std::unexpected(said.error());
    return one_line(bounded(*said, kLongestToolAnswer));
  });
  if (!answer && turn.given_up()) return Json(nullptr);
  if (answer) return content(*answer, false);
  const Json error = error_json(kQuestionFailed, in_words_of(Asks::tools, answer.error().message),
                                &answer.error());
  std::string words = error["message"].get<std::string>();
  if (error["data"].contains("remedy")) words += "; " + error["data"]["remedy"].get<std::string>();
  return content(words, true);
}

Json initialized(const Workspace& workspace, const Json& params) {
  constexpr std::array<std::string_view, 3> kVersions{"2025-06-18", "2025-03-26", "2024-11-05"};
  std::string version(kVersions[0]);
  if (params.is_object() && params.contains("protocolVersion")) {
    const Json& wanted = params["protocolVersion"];
    const auto known =
        std::ranges::find(kVersions, wanted.is_string() ? wanted.get<std::string>() : "");
    if (known != kVersions.end()) version = *known;
  }
  return {{"protocolVersion", version},
          {"capabilities", {{"tools", Json::object()}}},
          {"serverInfo", {{"name", "hodoscope"}, {"version", workspace.options().version}}},
          {"instructions", kInstructions}};
}

Json tools_json() {
  Json all = Json::array();
  for (const Tool& tool : kTools) all.push_back(tool_json(tool));
  return {{"tools", std::move(all)}};
}

Json failure(const Json& id, int code, const std::string& why) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", error_json(code, why)}};
}

Json success(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

// Null: none.
Json answer_to(Workspace& workspace, const Json& request, const Asker& asker) {
  if (!request.is_object() || !request.contains("method") || !request["method"].is_string()) {
    const bool answer = request.is_object() && !request.contains("method");
    if (answer) return nullptr;  // to a question that nobody asked
    return failure(nullptr, kInvalidRequest, "a message is an object with a method");
  }
  if (!request.contains("id")) return nullptr;  // notifications/initialized and others
  const Json& id = request["id"];
  if (!id.is_string() && !id.is_number()) {
    return failure(nullptr, kInvalidRequest, "a request's id is a string or a number");
  }
  const auto method = request["method"].get<std::string>();
  const Json params = request.contains("params") ? request["params"] : Json::object();
  if (method == "initialize") return success(id, initialized(workspace, params));
  if (method == "ping") return success(id, Json::object());
  if (method == "tools/list") return success(id, tools_json());
  if (method != "tools/call") {
    return failure(id, kMethodNotFound, fmt::format("no method '{}'", view::fit(method, 60)));
  }
  auto result = call_tool(workspace, params, id, asker);
  if (!result) return failure(id, kInvalidParams, result.error().message);
  return result->is_null() ? Json(nullptr) : success(id, std::move(*result));
}

}  // namespace

std::optional<std::string> answer_mcp_message(Workspace& workspace, std::string_view message,
                                              const Asker& asker) {
  const auto said = [](const Json& answer) {
    return answer.is_null() ? std::nullopt : std::optional(one_line(answer));
  };
  auto request = parse_message(message);
  if (!request) return said(failure(nullptr, kParseError, request.error().message));
  if (!request->is_array()) return said(answer_to(workspace, *request, asker));
  // The version of 2025-03-26 has batches.
  if (request->empty() || request->size() > kMostInBatch) {
    return said(failure(nullptr, kInvalidRequest,
                        fmt::format("a batch has from 1 to {} requests", kMostInBatch)));
  }
  Json answers = Json::array();
  for (const Json& one : *request) {
    if (Json answer = answer_to(workspace, one, asker); !answer.is_null()) {
      answers.push_back(std::move(answer));
    }
  }
  return said(answers.empty() ? Json(nullptr) : answers);
}

}  // namespace hodo::serve
