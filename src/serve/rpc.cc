#include "hodo/serve/rpc.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hodo/serve/workspace.h"
#include "hodo/view/json_dump.h"
#include "hodo/view/text.h"
#include "method_errors.h"
#include "wording.h"

namespace hodo::serve {
namespace {

// How deep it is nested, looking at no more than brackets and strings: the parser and what walks
// through values get no deeper ones.
bool too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepestMessage) return true;
    } else if ((c == ']' || c == '}') && depth != 0) {
      --depth;
    }
  }
  return false;
}

std::string_view cause_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::io:
      return "io";
    case ErrorCode::truncated:
      return "truncated";
    case ErrorCode::malformed:
      return "malformed";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::not_permitted:
      return "not_permitted";
    case ErrorCode::no_space:
      return "no_space";
    case ErrorCode::usage:
      return "usage";
  }
  return "unknown";
}

Json response(const Json& id) { return {{"jsonrpc", "2.0"}, {"id", id}}; }

Json failure(const Json& id, Json error) {
  Json out = response(id);
  out["error"] = std::move(error);
  return out;
}

bool is_id(const Json& id) { return id.is_string() || id.is_number() || id.is_null(); }

// The answer with its id, or the error, as a line.
std::string answered(Workspace& workspace, const Method& method, const Json& params, const Json& id,
                     const Asker& asker) {
  std::optional<Turn> turn;
  if (!method.beside) turn.emplace(workspace, id, asker);
  const auto cancelled = [&] {
    return one_line(failure(id, error_json(kCancelled, "the question was cancelled")));
  };
  if (turn && turn->given_up()) return cancelled();
  auto line = within_memory(workspace, [&]() -> Result<std::string> {
    auto answer = answer_of(method, workspace, params);
    if (!answer) return std::unexpected(answer.error());
    Json out = response(id);
    out["result"] = std::move(*answer);
    return one_line(out);
  });
  if (line) return std::move(*line);
  if (turn && turn->given_up()) return cancelled();
  const Asks asks = asker.person ? Asks::commands : Asks::methods;
  const std::string words = in_words_of(asks, line.error().message);
  return one_line(failure(id, error_json(kQuestionFailed, words, &line.error())));
}

// One request; nullopt: it is a notification.
std::optional<std::string> answer_one(Workspace& workspace, const Json& request,
                                      const Asker& asker) {
  const auto failed = [](const Json& id, int code, const std::string& why,
                         const Error* error = nullptr) {
    return one_line(failure(id, error_json(code, why, error)));
  };
  const auto invalid = [&](const std::string& why) {
    return failed(nullptr, kInvalidRequest, why);
  };
  if (!request.is_object()) return invalid("a request is a JSON object");
  const Json id = request.contains("id") ? request["id"] : Json(nullptr);
  if (!is_id(id)) return invalid("a request's id is a string or a number");
  const auto version = request.find("jsonrpc");
  if (version == request.end() || *version != "2.0") {
    return failed(id, kInvalidRequest, "\"jsonrpc\" is to be \"2.0\"");
  }
  const auto name = request.find("method");
  if (name == request.end() || !name->is_string()) {
    return failed(id, kInvalidRequest, "\"method\" is to be a string");
  }
  const bool silent = !request.contains("id");
  const Method* method = find_method(name->get<std::string>());
  if (method == nullptr) {
    if (silent) return std::nullopt;
    const auto error = no_such_method(name->get<std::string>());
    return failed(id, kMethodNotFound, error.message, &error);
  }
  const Json given = request.contains("params") ? request["params"] : Json::object();
  const Json params = given.is_null() ? Json::object() : given;
  if (Status fits = check_params(*method, params); !fits) {
    if (silent) return std::nullopt;
    return failed(id, kInvalidParams, fits.error().message, &fits.error());
  }
  std::string answer = answered(workspace, *method, params, id, asker);
  return silent ? std::nullopt : std::optional(std::move(answer));
}

}  // namespace

Turn::Turn(Workspace& workspace, const Json& id, const Asker& asker)
    : workspace_(workspace), turn_(workspace.turn()) {
  workspace_.name_question(
      id.is_string() ? id.get<std::string>() : id.dump(),
      {.hear = asker.hear, .gave_up = [&asker, id] { return asker.gave_up && asker.gave_up(id); }});
  // While it waited for its turn.
  if (asker.gave_up && asker.gave_up(id)) workspace_.give_up();
}

Turn::~Turn() { workspace_.name_question(""); }

bool Turn::given_up() const { return workspace_.given_up(); }

std::string one_line(const Json& value) { return view::json_dump(value, -1); }

Json error_json(int code, const std::string& message, const Error* error) {
  constexpr std::string_view kRemedy = "; remedy: ";
  Json out{{"code", code}, {"message", view::printable(message)}};
  if (error == nullptr) return out;
  out["data"]["cause"] = cause_of(error->code);
  const auto at = message.find(kRemedy);
  if (at != message.npos) {
    out["message"] = view::printable(message.substr(0, at));
    out["data"]["remedy"] = view::printable(message.substr(at + kRemedy.size()));
  }
  return out;
}

Result<Json> parse_message(std::string_view text) {
  if (text.size() > kLongestMessage) {
    return fail(ErrorCode::malformed,
                fmt::format("the message is longer than {}", view::byte_size(kLongestMessage)));
  }
  if (too_deep(text)) {
    return fail(ErrorCode::malformed,
                fmt::format("the message is nested more than {} deep", kDeepestMessage));
  }
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) return fail(ErrorCode::malformed, "the message is no JSON");
  return value;
}

std::optional<std::string> answer_message(Workspace& workspace, std::string_view message,
                                          const Asker& asker) {
  auto value = parse_message(message);
  if (!value) return one_line(failure(nullptr, error_json(kParseError, value.error().message)));
  if (!value->is_array()) return answer_one(workspace, *value, asker);
  if (value->empty() || value->size() > kMostInBatch) {
    return one_line(failure(
        nullptr, error_json(kInvalidRequest,
                            fmt::format("a batch has from 1 to {} requests", kMostInBatch))));
  }
  // Not one value: answers may be large.
  std::string all;
  for (const Json& request : *value) {
    if (const auto answer = answer_one(workspace, request, asker)) {
      all += all.empty() ? '[' : ',';
      all += *answer;
    }
  }
  return all.empty() ? std::nullopt : std::optional(all + "]");
}

namespace {

// A short message with a method, which may be of interest before its turn; else null.
Json short_message(std::string_view message) {
  constexpr std::size_t kLongest = 4096;
  if (message.size() > kLongest) return nullptr;
  auto value = parse_message(message);
  if (!value || !value->is_object()) return nullptr;
  const auto name = value->find("method");
  return name != value->end() && name->is_string() ? std::move(*value) : Json(nullptr);
}

}  // namespace

bool is_beside(std::string_view message) {
  const Json value = short_message(message);
  if (value.is_null()) return false;
  const Method* method = find_method(value["method"].get<std::string>());
  return method != nullptr && method->beside;
}

std::optional<Json> cancelled_by(std::string_view message) {
  const Json value = short_message(message);
  if (value.is_null() || value.contains("id")) return std::nullopt;
  const std::string method = value["method"].get<std::string>();
  const auto params = value.find("params");
  if (params == value.end() || !params->is_object()) return std::nullopt;
  const char* const member = method == "$/cancelRequest"           ? "id"
                             : method == "notifications/cancelled" ? "requestId"
                                                                   : nullptr;
  if (member == nullptr || !params->contains(member)) return std::nullopt;
  return (*params)[member];
}

}  // namespace hodo::serve
