#include "queue_stream.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace hodo::session {

QueueStream::QueueStream(PtInput& input, std::size_t queue, std::uint64_t round)
    : input_(input),
      queue_(queue),
      round_(round),
      extent_(extent_of(input.trace_of(queue, {})->parts())) {}

flow::PieceSource::Round QueueStream::round(std::uint64_t offset, std::uint64_t size) {
  constexpr std::uint64_t kToTheEnd = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t from = std::max(offset, extent_.begin);
  const std::uint64_t rest = extent_.end - std::min(extent_.end, from);
  const std::uint64_t most = std::max(size, round_);
  const bool last = rest <= most;
  if (bytes_) room_ = std::move(*bytes_).room();
  bytes_.reset();
  const StreamRange range{.begin = offset, .end = last ? kToTheEnd : from + most};
  auto bytes = QueueBytes::make(*input_.trace_of(queue_, range), round_, std::move(room_));
  if (!bytes) {
    status_ = std::unexpected(bytes.error());
    return {};
  }
  bytes_.emplace(std::move(*bytes));
  return {.pieces = bytes_->pieces(), .last = last};
}

void QueueStream::done(std::uint64_t offset) {
  if (bytes_) bytes_->done(offset);
}

}  // namespace hodo::session
