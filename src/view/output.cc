#include "hodo/view/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace hodo::view {

Output::Output(int fd) : fd_(fd) { buffer_.reserve(kFlushSize + (1 << 16)); }

Output::~Output() { flush(); }

void Output::pass(std::string_view bytes) {
  if (fd_ < 0) return write(bytes);
  flush();
  put(bytes);
}

void Output::flush() {
  if (fd_ < 0) return;
  put(buffer_);
  buffer_.clear();
}

void Output::put(std::string_view bytes) {
  std::string_view left = bytes;
  while (!left.empty() && error_ == 0) {
    ssize_t written = ::write(fd_, left.data(), left.size());
    if (written >= 0) {
      left.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
}

bool Output::closed() const { return error_ == EPIPE; }

Status Output::finish() {
  flush();
  if (error_ == 0 || closed()) return {};
  ErrorCode code = error_ == ENOSPC || error_ == EDQUOT ? ErrorCode::no_space : ErrorCode::io;
  return fail(code, fmt::format("writing the output: {}", std::generic_category().message(error_)));
}

}  // namespace hodo::view
