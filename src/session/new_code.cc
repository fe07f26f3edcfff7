#include "hodo/session/new_code.h"

#include "file/file_session.h"

namespace hodo::session {

std::vector<NewCode> new_code_of(const Session& session) {
  std::vector<NewCode> out;
  const auto* const file = dynamic_cast<const FileSession*>(&session);
  if (file == nullptr) return out;
  for (const perfdata::KeptCode& code : file->model().kept()) {
    if (code.pid < 0) continue;
    out.push_back(
        {.pid = code.pid, .address = code.address, .size = code.bytes.size(), .time = code.time});
  }
  return out;
}

}  // namespace hodo::session
