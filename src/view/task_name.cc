#include "task_name.h"

namespace hodo::view {

std::string task_name(const session::Session& session, std::int32_t pid, std::int32_t tid) {
  if (session.recording() == nullptr) return "";
  std::string_view name;
  for (const perfdata::Thread& t : session.recording()->threads()) {
    if (t.pid == pid && t.tid == tid && !t.comm().empty()) name = t.comm();
  }
  return std::string(name);
}

}  // namespace hodo::view
