#include "hodo/view/task_name.h"

namespace hodo::view {

std::string task_name(const session::Session& session, std::int32_t pid, std::int32_t tid) {
  if (session.facts() == nullptr) return "";
  std::string_view name;
  for (const session::Thread& t : session.facts()->threads) {
    if (t.pid == pid && t.tid == tid && !t.comm.empty()) name = t.comm;
  }
  return std::string(name);
}

}  // namespace hodo::view
