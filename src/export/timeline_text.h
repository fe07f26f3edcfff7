// What writers of timelines share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/analyze/call_tree.h"
#include "hodo/session/session.h"

namespace hodo::exports {

// A JSON string, quotes included, of bytes that somebody else made up.
std::string json_string(std::string_view raw);

// Last path component.
std::string_view file_name(std::string_view path);

// "ls 4242"; "trace" where nobody knows threads. Raw.
std::string thread_title(const session::Session& session, const session::Context& who);

// Numbers for the functions that a timeline names, in the order in which they come: those of
// analyze::SliceSink may have gaps.
class FrameNumbers {
 public:
  // True if it is new.
  bool add(std::uint32_t number, std::uint32_t& frame);
  std::uint32_t of(std::uint32_t number) const { return frames_[place(number)]; }
  void clear();

 private:
  // "[lost]" has the largest number there is.
  static std::size_t place(std::uint32_t number) { return std::size_t{number + 1}; }
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> frames_;
  std::uint32_t count_ = 0;
};

}  // namespace hodo::exports
