// A progress line on standard error for work that takes longer than a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace hodo::view {

// The text of the line: "decoding 42%  118 MiB/s  12 s left".
std::string progress_line(std::string_view what, std::uint64_t done, std::uint64_t total,
                          std::chrono::duration<double> elapsed);

// Draws the line at most five times a second, never in the first second, and only on a terminal;
// erases it when destroyed.
class Progress {
 public:
  explicit Progress(std::string what, int fd = 2);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::uint64_t done, std::uint64_t total);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  int fd_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::seconds(1);
};

}  // namespace hodo::view
