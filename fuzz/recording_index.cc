// An index and rows of calls of somebody else's making (ask::Index, ask::CallRowsReader,
// text::PartsReader): whatever their files say, they are refused, or what is told of them makes
// sense.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "call_rows.h"
#include "hodo/ask/index.h"
#include "hodo/text/parts_file.h"
#include "segments.h"

namespace {

using namespace hodo;
using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kQueues = 3;

void must(bool is) {
  if (!is) std::abort();
}

void ask_about(const ask::Index& index) {
  const auto segments = index.segments();
  std::vector<std::uint64_t> sites(64);
  ask::IndexCursor cursor(index);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const ask::Segment& segment = segments[i];
    must(segment.queue < kQueues);
    must(index.at(segment.thread, segment.branches) != ask::Index::kNone);
    for (const ask::CalleeCount& count : index.ran(i).callees) {
      must(count.callee < index.callees().size());
    }
    for (const std::uint32_t granule : index.ran(i).granules) {
      must(granule < index.granules().size());
    }
    cursor.move_to(i);
    (void)cursor.calls();
  }
  cursor.put_returns(ask::Index::kNone, sites);
  if (segments.empty()) return;
  must(index.open_at(segments.size() - 1).size() <= std::size_t{1} << 20);
  index.returns_at(segments.size() - 1, sites);
}

// What is read, if it is read as a whole, is what was written.
void read_index(Bytes starts, Bytes ran) {
  const auto index = ask::Index::read(starts, kQueues, [ran]() {
    return std::optional(std::vector<std::uint8_t>(ran.begin(), ran.end()));
  });
  if (!index) return;
  ask_about(*index);
  const ask::Index::Bytes written = index->write();
  const auto again = ask::Index::read(written.starts, kQueues, [&] { return written.ran; });
  must(again && again->segments().size() == index->segments().size());
  must(again->callees().size() == index->callees().size());
  must(again->too_many_callees() == index->too_many_callees());
}

// Parts are wherever the head says in one row of bytes.
class RowsInMemory final : public ask::CallStore::File {
 public:
  RowsInMemory(Bytes head, Bytes parts) : head_(head), parts_(parts) {}
  Bytes head() const override { return head_; }
  std::uint64_t bytes() const override { return head_.size() + parts_.size(); }
  std::optional<std::vector<std::uint8_t>> part(const ask::CallStore::Part& part) const override {
    if (part.offset > parts_.size() || part.size > parts_.size() - part.offset) return std::nullopt;
    const Bytes found =
        parts_.subspan(static_cast<std::size_t>(part.offset), static_cast<std::size_t>(part.size));
    return std::vector<std::uint8_t>(found.begin(), found.end());
  }

 private:
  Bytes head_;
  Bytes parts_;
};

void read_rows(Bytes head, Bytes parts) {
  const auto rows = ask::CallRowsReader::open(std::make_unique<RowsInMemory>(head, parts));
  if (!rows) return;
  const auto functions = rows->functions();
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    if (!functions[i].rows) continue;
    std::vector<ask::KeptRow> found;
    if (!rows->read(i, found)) continue;
    must(found.size() == *functions[i].rows);
    for (const ask::KeptRow& kept : found) {
      must(kept.row.function == i);
      must(kept.row.caller == ask::kNobody || kept.row.caller < functions.size());
      must(kept.row.outcome <= ask::CallRow::Outcome::open);
    }
  }
}

// A file with the key that its header names, so that what lies behind it is read.
void read_file(Bytes file) {
  const int fd = ::memfd_create("rows", MFD_CLOEXEC);
  if (fd < 0) return;
  must(::write(fd, file.data(), file.size()) == static_cast<ssize_t>(file.size()));
  text::ModuleCache::Key key{};
  for (std::size_t i = 0; i < key.size() && 8 + i < file.size(); ++i) key[i] = file[8 + i];
  const auto reader = text::PartsReader::open(fd, key);
  if (!reader) return;
  must(reader->bytes() == file.size());
  // Where the head lies others could, too.
  const auto part = reader->part({.offset = 64, .packed = file.size() - 64, .size = 100});
  must(!part || part->size() == 100);
  read_rows(reader->head(), file);
}

}  // namespace

// The first byte says what it is; two more how long the first of two parts is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const Bytes rest(data + 3, size - 3);
  const std::size_t first = std::min<std::size_t>(data[1] | data[2] << 8, rest.size());
  switch (data[0] % 3) {
    case 0:
      read_index(rest.first(first), rest.subspan(first));
      break;
    case 1:
      read_rows(rest.first(first), rest.subspan(first));
      break;
    default:
      read_file(rest);
  }
  return 0;
}
