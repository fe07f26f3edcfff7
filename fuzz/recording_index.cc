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
#include <random>
#include <span>
#include <vector>

#include "call_rows.h"
#include "hodo/ask/index.h"
#include "hodo/base/numbers.h"
#include "hodo/flow/checkpoint.h"
#include "hodo/text/parts_file.h"
#include "segments.h"

namespace {

using namespace hodo;
using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t kQueues = 3;
constexpr std::size_t kMostLooked = 64;  // segments: each is looked for from the first one on

void must(bool is) {
  if (!is) std::abort();
}

// Of one version or another, so that what lies behind is read: kept inputs do not grow old.
std::vector<std::uint8_t> with_version(Bytes some, std::uint64_t version) {
  std::vector<std::uint8_t> out(some.begin(), some.end());
  must(version < 0x80);
  if (!out.empty()) out[0] = static_cast<std::uint8_t>(version);
  return out;
}

// A queue is of one thread and goes forwards, and so does each thread.
void must_go_on(std::span<const ask::Segment> segments, std::size_t i) {
  const ask::Segment& segment = segments[i];
  must(segment.queue < kQueues);
  const bool begins = i == 0 || segments[i - 1].queue != segment.queue;
  must(segment.from.has_value() == !begins);
  if (!begins) must(segments[i - 1].thread == segment.thread);
  if (!begins && segments[i - 1].from) must(segments[i - 1].from->offset < segment.from->offset);
  const auto before = segments.first(i);
  const auto last = std::find_if(before.rbegin(), before.rend(),
                                 [&](const auto& s) { return s.thread == segment.thread; });
  if (last == before.rend()) {
    must(segment.branches == 0);
  } else {
    must(last->branches <= segment.branches && last->time <= segment.time);
  }
}

void must_make_sense(const ask::Index& index, const ask::Ran& ran) {
  for (std::size_t i = 0; i < ran.callees.size(); ++i) {
    must(ran.callees[i].callee < index.callees().size());
    if (i != 0) must(ran.callees[i - 1].callee < ran.callees[i].callee);
  }
  for (std::size_t i = 0; i < ran.granules.size(); ++i) {
    must(ran.granules[i] < index.granules().size());
    if (i != 0) must(ran.granules[i - 1] < ran.granules[i]);
  }
}

void ask_about(const ask::Index& index) {
  const auto segments = index.segments();
  ask::IndexCursor cursor(index);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    must_go_on(segments, i);
    const std::size_t at = index.at(segments[i].thread, segments[i].branches);
    must(at != ask::Index::kNone && at >= i && segments[at].branches == segments[i].branches);
    must_make_sense(index, index.ran(i));
    cursor.move_to(i);
    // Found in two ways.
    const auto open = cursor.calls().open;
    must(open.size() <= std::size_t{1} << 20);
    std::vector<std::uint64_t> sites(64);
    std::vector<std::uint64_t> same(64);
    cursor.put_returns(ask::Index::kNone, sites);
    must(open == index.calls_at(i, same).open);
    must(sites == same);
    if (i == kMostLooked) break;
  }
}

// What is read, if it is read as a whole, is what was written.
void read_index(Bytes starts, Bytes ran) {
  const auto index = ask::Index::read(with_version(starts, ask::Index::kVersion), kQueues, [ran]() {
    return std::optional(std::vector<std::uint8_t>(ran.begin(), ran.end()));
  });
  if (!index) return;
  ask_about(*index);
  const ask::Index::Bytes written = index->write();
  const auto again = ask::Index::read(written.starts, kQueues, [&] { return written.ran; });
  must(again && again->segments().size() == index->segments().size());
  must(again->callees().size() == index->callees().size());
  const ask::Index::Bytes rewritten = again->write();
  must(rewritten.starts == written.starts && rewritten.ran == written.ran);
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

void read_rows(Bytes written, Bytes parts) {
  const auto head = with_version(written, ask::kRowsVersion);
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
      must(kept.row.at.thread == kept.row.until.thread);
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

std::vector<std::uint64_t> numbers_in(Bytes some) {
  std::vector<std::uint64_t> out;
  for (std::size_t at = 0; at < some.size();) {
    NumberReader in(some.subspan(at));
    NumberWriter one;
    out.push_back(in.number());
    one.number(out.back());
    at += one.size();
  }
  return out;
}

std::vector<std::uint8_t> bytes_of(std::span<const std::uint64_t> numbers) {
  NumberWriter out;
  for (const std::uint64_t number : numbers) out.number(number);
  return out.take();
}

// Another number in the place of one: their bytes mean little one by one.
void change_one(std::vector<std::uint64_t>& numbers, std::minstd_rand& random) {
  const std::size_t at = random() % numbers.size();
  const std::uint64_t other = numbers[random() % numbers.size()];
  const auto place = numbers.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random() % 8) {
    case 0:
      numbers.erase(place);
      return;
    case 1:
      numbers.insert(place, other);
      return;
    case 2:
      *place = other;
      return;
    case 3:
      *place = random() % 2 == 0 ? 0 : ~std::uint64_t{0};
      return;
    case 4:
      *place = std::uint64_t{1} << random() % 64;
      return;
    case 5:
      *place ^= 1;
      return;
    default:
      *place += random() % 2 == 0 ? 1 : ~std::uint64_t{0};
  }
}

// The lengths before each of the changes that begin there.
void mend_changes(std::vector<std::uint64_t>& numbers, std::size_t at) {
  constexpr std::uint64_t kCall = 9;
  constexpr std::uint64_t kReturn = 2;
  while (at < numbers.size()) {
    std::size_t end = at + 1;
    const auto pass = [&](std::uint64_t count, std::uint64_t each) {
      const std::uint64_t left = numbers.size() - end;
      end += static_cast<std::size_t>(count > left / each ? left : count * each);
    };
    const auto pass_list = [&](std::uint64_t each) {
      if (end < numbers.size()) pass(numbers[end++], each);
    };
    pass(1, 1);
    pass_list(kCall);
    pass_list(kReturn);
    numbers[at] = bytes_of(std::span(numbers).subspan(at + 1, end - at - 1)).size();
    at = end;
  }
}

// What `starts` says of lengths, made true: that of `ran`, and those of the changes at its own end.
void mend_lengths(std::vector<std::uint64_t>& starts, std::size_t ran) {
  constexpr std::size_t kHead = 3;
  constexpr std::size_t kFlag = 3;  // in a segment: whether a checkpoint follows
  constexpr std::size_t kCheckpoint = 1 + flow::Checkpoint::kWords;
  constexpr std::size_t kRest = 20;
  if (starts.size() < kHead) return;
  starts[1] = ran;
  std::size_t at = kHead;
  for (std::uint64_t i = starts[2]; i > 0 && at + kFlag < starts.size(); --i) {
    at += kFlag + 1 + (starts[at + kFlag] != 0 ? kCheckpoint : 0) + kRest;
  }
  if (at >= starts.size()) return;
  mend_changes(starts, at + 1);
  starts[at] = bytes_of(std::span(starts).subspan(at + 1)).size();
}

std::size_t first_part(Bytes data) {
  return std::min<std::size_t>(data[1] | data[2] << 8, data.size() - 3);
}

}  // namespace

// libFuzzer's own; there is none where inputs are only replayed.
extern "C" [[gnu::weak]] std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                                      std::size_t most);

// Numbers of one of the two parts, mostly; or any bytes.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  if (size < 4 || data[0] % 3 == 2 || random() % 4 == 0) {
    return LLVMFuzzerMutate(data, size, most);
  }
  const Bytes rest(data + 3, size - 3);
  const std::size_t cut = first_part(Bytes(data, size));
  auto first = numbers_in(rest.first(cut));
  auto second = numbers_in(rest.subspan(cut));
  auto& part = second.empty() || (random() % 2 == 0 && !first.empty()) ? first : second;
  for (auto i = random() % 3; i < 3 && !part.empty(); ++i) change_one(part, random);
  const auto behind = bytes_of(second);
  if (data[0] % 3 == 0 && random() % 8 != 0) mend_lengths(first, behind.size());
  const auto before = bytes_of(first);
  if (before.size() > 0xffff || 3 + before.size() + behind.size() > most) return size;
  data[1] = static_cast<std::uint8_t>(before.size());
  data[2] = static_cast<std::uint8_t>(before.size() >> 8);
  std::ranges::copy(behind, std::ranges::copy(before, data + 3).out);
  return 3 + before.size() + behind.size();
}

// The first byte says what it is; two more how long the first of two parts is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const Bytes rest(data + 3, size - 3);
  const std::size_t first = first_part(Bytes(data, size));
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
