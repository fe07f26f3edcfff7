// JSON-RPC 2.0: messages in, answers out (https://www.jsonrpc.org/specification).
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "hodo/base/result.h"
#include "hodo/serve/method.h"
#include "hodo/serve/workspace.h"

namespace hodo::serve {

// The codes of its errors. Those of a question are ours: "data" then has {"cause": a word for
// programs}, and {"remedy"} where there is one.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kQuestionFailed = -32000;
inline constexpr int kCancelled = -32800;  // as in the Language Server Protocol

// What is longer, or nested more deeply, is refused unread.
inline constexpr std::size_t kLongestMessage = std::size_t{4} << 20;
inline constexpr std::size_t kDeepestMessage = 64;
inline constexpr std::size_t kMostInBatch = 1000;

// A value of JSON as it came from outside. Errors: malformed, with the place.
Result<Json> parse_message(std::string_view text);

// Who waits for an answer: what they hear of progress in the thread that answers, and whether they
// have given up the question with this id.
struct Asker {
  std::function<void(const Progress&)> hear{};
  std::function<bool(const Json& id)> gave_up{};
  bool person = false;  // who can type commands, and is told of those
};

// A question's turn: others wait, and progress() tells of this one, by its id. `asker` must outlive
// it.
class Turn {
 public:
  Turn(Workspace& workspace, const Json& id, const Asker& asker);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // Nobody wants the answer any more.
  bool given_up() const;

 private:
  Workspace& workspace_;
  std::scoped_lock<std::mutex> turn_;
};

// The answer to one message, a request or a batch, on one line without its end; nullopt where none
// is due. A request's id is what progress() calls its question.
std::optional<std::string> answer_message(Workspace& workspace, std::string_view message,
                                          const Asker& asker = {});

// The id of the question that a message gives up, a notification: JSON-RPC's "$/cancelRequest"
// {"id"}, as in the Language Server Protocol, or the Model Context Protocol's
// "notifications/cancelled" {"requestId"}. nullopt: it is something else.
std::optional<Json> cancelled_by(std::string_view message);

// Whether it can be answered at once, while another question is: a request of such a method.
bool is_beside(std::string_view message);

// The error object of an Error, {"code", "message", "data"}, in the words of commands.
Json error_json(int code, const std::string& message, const Error* error = nullptr);
// A value on one line, ASCII only; what is no UTF-8 in it becomes U+FFFD.
std::string one_line(const Json& value);

}  // namespace hodo::serve
