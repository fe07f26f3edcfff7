// The one way to a command's standard output: a large buffer over a file descriptor, no locale and
// no iostream, so that millions of lines cost what their bytes cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "hodo/base/result.h"

namespace hodo::view {

// Collects bytes and writes them out when a mebibyte has come together. A failed write is
// remembered and everything after it is dropped; callers that produce much look at ok() now and
// then and stop.
class Output {
 public:
  // Does not own `fd`.
  explicit Output(int fd);
  // Keeps all that is written, for take().
  Output() = default;
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view bytes) {
    buffer_.append(bytes);
    if (buffer_.size() >= kFlushSize) flush();
  }
  // The same of so much that it is not worth copying.
  void pass(std::string_view bytes);
  // The buffer itself, for fmt::format_to and the like; call checkpoint() after each record.
  std::string& buffer() { return buffer_; }
  void checkpoint() {
    if (buffer_.size() >= kFlushSize) flush();
  }
  void flush();
  std::string take() { return std::move(buffer_); }

  bool ok() const { return error_ == 0; }
  // The reader has gone away (EPIPE): no error to tell anybody about.
  bool closed() const;
  // Flushes; io or no_space with the system's reason if any write failed, success if the reader
  // went.
  Status finish();

 private:
  static constexpr std::size_t kFlushSize = 1 << 20;
  void put(std::string_view bytes);
  int fd_ = -1;  // -1: everything stays in the buffer
  int error_ = 0;
  std::string buffer_;
};

}  // namespace hodo::view
