#include "recording.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "hodo/ask/walk.h"
#include "hodo/serve/method.h"
#include "hodo/serve/rpc.h"

namespace hodo::python {
namespace {

Failure no_thread(const std::string& text) {
  return {"'" + text + "' is no thread; info() lists them, as 4242 or q0", "usage"};
}

}  // namespace

session::Selection selection_of(const Part& part) {
  session::Selection out;
  if (!part.thread.empty() && part.thread != "q0") {
    std::int32_t tid = 0;
    const char* const end = part.thread.data() + part.thread.size();
    const auto [read, error] = std::from_chars(part.thread.data(), end, tid);
    if (error != std::errc() || read != end || tid < 0) throw no_thread(part.thread);
    out.tid = tid;
  }
  if (part.pid >= 0) out.pid = part.pid;
  return out;
}

Recording::Recording(const serve::OpenOptions& options) : options_(options) {
  auto opened = serve::Workspace::open(options);
  if (!opened) raise(opened.error(), options.input.path);
  workspace_ = std::move(*opened);
}

std::string Recording::ask(const std::string& method, const std::string& params) {
  const auto given = serve::parse_message(params);
  if (!given) raise(given.error(), path());
  const pybind11::gil_scoped_release others;
  bool interrupted = false;
  // Signals are looked at while it decodes.
  const serve::Asker asker{.gave_up = [&](const serve::Json&) {
    interrupted = interrupted || was_interrupted();
    return interrupted;
  }};
  Result<std::string> answer{""};
  {
    const serve::Method* const known = serve::find_method(method);
    std::optional<serve::Turn> turn;
    if (known == nullptr || !known->beside) turn.emplace(*workspace_, method, asker);
    if (!interrupted) {
      answer = serve::within_memory(*workspace_, [&]() -> Result<std::string> {
        auto said = serve::ask(*workspace_, method, *given, true);
        if (!said) return std::unexpected(said.error());
        return serve::one_line(*said);
      });
    }
  }
  if (interrupted) {
    const pybind11::gil_scoped_acquire gil;
    throw pybind11::error_already_set();
  }
  if (!answer) raise(answer.error(), path());
  return std::move(*answer);
}

std::unique_ptr<session::Session> Recording::another() const {
  auto session = session::Session::open(options_.input);
  if (!session) raise(session.error(), path());
  return std::move(*session);
}

}  // namespace hodo::python
