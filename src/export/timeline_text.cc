#include "timeline_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hodo/view/task_name.h"
#include "hodo/view/text.h"

namespace hodo::exports {

std::string json_string(std::string_view raw) {
  return nlohmann::json(view::printable(raw))
      .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string thread_title(const session::Session& session, const session::Context& who) {
  if (who.tid < 0) return "trace";
  const std::string name = view::task_name(session, who.pid, who.tid);
  return name.empty() ? fmt::format("{}", who.tid) : fmt::format("{} {}", name, who.tid);
}

bool FrameNumbers::add(std::uint32_t number, std::uint32_t& frame) {
  const std::size_t at = place(number);
  if (at >= frames_.size()) frames_.resize(at + 1, kNone);
  const bool fresh = frames_[at] == kNone;
  if (fresh) frames_[at] = count_++;
  frame = frames_[at];
  return fresh;
}

void FrameNumbers::clear() {
  frames_.clear();
  count_ = 0;
}

}  // namespace hodo::exports
