#include "qemu_messages.h"

#include <unistd.h>

#include <cstdio>
#include <string_view>

namespace hodo::plugin {
namespace {

// fopencookie's write function: what it does not take the caller would write again.
ssize_t write_all_but_signals(void*, const char* text, std::size_t size) {
  if (!std::string_view(text, size).starts_with("qemu: uncaught target signal ")) {
    for (std::size_t done = 0; done < size;) {
      const ssize_t n = write(STDERR_FILENO, text + done, size - done);
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
  }
  return static_cast<ssize_t>(size);
}

}  // namespace

void leave_out_words_about_signals() {
  cookie_io_functions_t functions{};
  functions.write = write_all_but_signals;
  FILE* stream = fopencookie(nullptr, "w", functions);
  if (stream == nullptr) return;
  // Line by line: a line is written when it is whole, and never in parts.
  setvbuf(stream, nullptr, _IOLBF, 0);
  stderr = stream;
}

}  // namespace hodo::plugin
