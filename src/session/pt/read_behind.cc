#include "read_behind.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace hodo::session {
namespace {

// Lets go of the whole pages in `bytes`.
void release_pages(std::span<const std::uint8_t> bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::size_t head = (page - address % page) % page;
  if (bytes.size() < head + page) return;
  const std::size_t size = (bytes.size() - head) / page * page;
  // What cannot be let go stays: nothing but memory is lost.
  (void)madvise(const_cast<std::uint8_t*>(bytes.data() + head), size, MADV_DONTNEED);
}

}  // namespace

void ReadBehind::done(std::uint64_t offset) {
  constexpr std::size_t kAtOnce = 8 << 20;
  while (current_ < pieces_.size()) {
    const flow::Piece& piece = pieces_[current_];
    if (offset <= piece.offset) return;
    const auto read = static_cast<std::size_t>(
        std::min<std::uint64_t>(offset - piece.offset, piece.bytes.size()));
    const bool whole = read == piece.bytes.size();
    if (!whole && read - std::min(read, released_) < kAtOnce) return;
    // From the page on that was only read in part before.
    const std::size_t from = released_ - std::min<std::size_t>(released_, 1 << 16);
    release_pages(piece.bytes.subspan(from, read - from));
    released_ = whole ? 0 : read;
    if (!whole) return;
    ++current_;
  }
}

}  // namespace hodo::session
