#include "input.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace hodo::perfdata {
namespace {

// Records that follow each other are read so many at a time; more than the longest one.
constexpr std::size_t kMostAhead = 128 << 10;
// Behind trace data that was jumped over, of which a long trace has thousands of pieces, a few
// records follow before the next piece.
constexpr std::size_t kLeastAhead = 4 << 10;

std::unexpected<Error> ends_before(std::uint64_t offset) {
  return fail(ErrorCode::truncated, "the file ends before these bytes do", offset);
}

}  // namespace

bool Input::has_grown() const {
  struct stat now{};
  return file_ && ::fstat(file_->fd(), &now) == 0 &&
         static_cast<std::uint64_t>(now.st_size) > size_;
}

Status Input::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  if (offset > size_ || out.size() > size_ - offset) return ends_before(offset);
  if (file_) return file_->read(offset, out);
  if (!out.empty()) std::memcpy(out.data(), memory_.data() + offset, out.size());
  return {};
}

Result<std::vector<std::uint8_t>> Input::section(std::uint64_t offset, std::uint64_t size,
                                                 std::uint64_t limit) const {
  if (offset > size_ || size > size_ - offset) return ends_before(offset);
  if (size > limit) {
    return fail(ErrorCode::unsupported, "larger than " + std::to_string(limit) + " bytes", offset);
  }
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  if (Status status = read(offset, bytes); !status) return std::unexpected(status.error());
  return bytes;
}

bool Window::holds(std::uint64_t offset, std::size_t size) const {
  return offset >= begin_ && offset - begin_ <= bytes_.size() &&
         size <= bytes_.size() - (offset - begin_);
}

Result<std::span<const std::uint8_t>> Window::at(std::uint64_t offset, std::size_t size) {
  if (!holds(offset, size)) {
    if (offset > input_->size() || size > input_->size() - offset) return ends_before(offset);
    if (!input_->memory().empty()) {
      return input_->memory().subspan(static_cast<std::size_t>(offset), size);
    }
    const std::uint64_t left = input_->size() - offset;
    const bool goes_on = offset >= begin_ && offset - begin_ <= bytes_.size();
    ahead_ = goes_on ? std::clamp(ahead_ * 4, kLeastAhead, kMostAhead) : kLeastAhead;
    bytes_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(std::max(size, ahead_), left)));
    begin_ = offset;
    if (Status status = input_->read(offset, bytes_); !status) {
      // What was asked for may still be there.
      bytes_.resize(size);
      status = input_->read(offset, bytes_);
      if (!status) bytes_.clear();
      if (!status) return std::unexpected(status.error());
    }
  }
  return std::span(bytes_).subspan(static_cast<std::size_t>(offset - begin_), size);
}

bool Window::peek(std::uint64_t offset, std::span<std::uint8_t> out) const {
  if (!holds(offset, out.size())) return input_->read(offset, out).has_value();
  std::memcpy(out.data(), bytes_.data() + (offset - begin_), out.size());
  return true;
}

}  // namespace hodo::perfdata
