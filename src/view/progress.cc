#include "hodo/view/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "hodo/view/text.h"

namespace hodo::view {
namespace {

// A progress line that cannot be written is no reason to stop.
void put(int fd, std::string_view text) {
  [[maybe_unused]] ssize_t written = ::write(fd, text.data(), text.size());
}

}  // namespace

std::string progress_line(std::string_view what, std::uint64_t done, std::uint64_t total,
                          std::chrono::duration<double> elapsed) {
  double rate = elapsed.count() > 0 ? static_cast<double>(done) / elapsed.count() : 0;
  std::string speed = byte_size(static_cast<std::uint64_t>(rate)) + "/s";
  if (total == 0 || done == 0 || done > total) {
    return fmt::format("{} {}  {}", what, byte_size(done), speed);
  }
  double share = static_cast<double>(done) / static_cast<double>(total);
  double left = static_cast<double>(total - done) / rate;
  std::string rest = left < 60 ? fmt::format("{:.0f} s", left)
                               : fmt::format("{:.0f} min {:02.0f} s", std::floor(left / 60),
                                             left - 60 * std::floor(left / 60));
  return fmt::format("{} {:.0f}%  {}  {} left", what, 100 * share, speed, rest);
}

Progress::Progress(std::string what, int fd)
    : what_(std::move(what)), fd_(fd), terminal_(isatty(fd) == 1) {}

Progress::~Progress() { clear(); }

void Progress::update(std::uint64_t done, std::uint64_t total) {
  if (!terminal_) return;
  auto now = Clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(200);
  put(fd_, "\r" + progress_line(what_, done, total, now - start_) + "\033[K");
  drawn_ = true;
}

void Progress::clear() {
  if (drawn_) put(fd_, "\r\033[K");
  drawn_ = false;
}

}  // namespace hodo::view
