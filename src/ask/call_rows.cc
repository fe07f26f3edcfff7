#include "call_rows.h"

#include <array>
#include <utility>

namespace hodo::ask {
namespace {

// Bytes that these take at least.
constexpr std::size_t kLeastOfRow = 6;
constexpr std::size_t kLeastOfFunction = 3;
constexpr std::size_t kLeastOfChunk = 3;
constexpr std::size_t kLeastOfPart = 3;
constexpr std::size_t kLeastOfWho = 5;
// So many are written at once.
constexpr std::size_t kChunk = std::size_t{8} << 10;
constexpr std::size_t kFullPart = CallStore::kLargestPart / 2;
static_assert(kFullPart >= 2 * kChunk);

// The first number of a row.
constexpr unsigned kOutcomeBits = 3;
constexpr unsigned kTimed = 1 << kOutcomeBits;  // it has times
constexpr unsigned kWhoShift = kOutcomeBits + 1;

constexpr std::uint64_t kCalled = 1;
constexpr std::uint64_t kHasRows = 2;
constexpr std::uint64_t kSynthetic = 4;

std::uint64_t coded(std::int32_t number) {
  return static_cast<std::uint64_t>(std::int64_t{number} + 1);
}

std::int32_t number_in(NumberReader& in) {
  return static_cast<std::int32_t>(static_cast<std::int64_t>(in.number(std::uint64_t{1} << 31)) -
                                   1);
}

std::uint32_t number32_in(NumberReader& in) {
  return static_cast<std::uint32_t>(in.number(~std::uint32_t{0}));
}

// The bytes of a row, as NumberWriter has them: there are many, and few of each.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): not cleared for each row
class RowBytes {
 public:
  [[gnu::always_inline]] void number(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_[size_++] = static_cast<std::uint8_t>(value | 0x80);
      value >>= 7;
    }
    bytes_[size_++] = static_cast<std::uint8_t>(value);
  }
  [[gnu::always_inline]] void step(std::uint64_t from, std::uint64_t to) {
    const std::uint64_t by = to - from;
    number(by << 1 ^ (by >> 63 != 0 ? ~std::uint64_t{0} : 0));
  }
  std::span<const std::uint8_t> bytes() const { return std::span(bytes_).first(size_); }

 private:
  static constexpr std::size_t kNumbers = 9;
  static constexpr std::size_t kLongest = 10;  // of a number
  std::array<std::uint8_t, kNumbers * kLongest> bytes_;
  std::size_t size_ = 0;
};

}  // namespace

std::uint32_t CallRowsWriter::number_of(const Who& who) {
  if (last_number_ < who_.size() && last_ == who) return last_number_;
  const auto [it, fresh] = numbers_.try_emplace(who, static_cast<std::uint32_t>(who_.size()));
  if (fresh) who_.push_back(who);
  last_ = who;
  return last_number_ = it->second;
}

// Of a row that is like the one before it most numbers are small.
std::size_t CallRowsWriter::add(const CallRow& row, std::uint32_t visit) {
  if (row.function >= streams_.size()) streams_.resize(2 * std::size_t{row.function} + 1);
  Stream& stream = streams_[row.function];
  const CallRow& before = stream.before;
  RowBytes out;
  const std::uint64_t who = number_of({row.at.thread, row.pid, row.space, visit});
  const bool timed = row.time != before.time || row.ticks != before.ticks || row.duration != 0;
  out.number(who << kWhoShift | (timed ? kTimed : 0) | static_cast<std::uint64_t>(row.outcome));
  out.step(before.at.branch, row.at.branch);
  out.number(row.until.branch - row.at.branch);
  out.number(row.instructions);
  out.step(before.site, row.site);
  out.number(row.caller + std::uint32_t{1});  // of nobody 0
  if (timed) {
    out.step(before.time, row.time);
    out.step(before.ticks, row.ticks);
    out.number(row.duration);
  }
  stream.out.insert(stream.out.end(), out.bytes().begin(), out.bytes().end());
  stream.before = row;
  if (stream.out.size() >= kChunk) write_chunk(stream);
  return ++stream.rows;
}

void CallRowsWriter::write_chunk(Stream& stream) {
  const std::vector<std::uint8_t> chunk = std::exchange(stream.out, {});
  stream.before = {};
  if (!file_) return;
  stream.chunks.push_back({static_cast<std::uint32_t>(parts_.size()),
                           static_cast<std::uint32_t>(part_.size()),
                           static_cast<std::uint32_t>(chunk.size())});
  part_.insert(part_.end(), chunk.begin(), chunk.end());
  if (part_.size() >= kFullPart) end_part();
}

void CallRowsWriter::end_part() {
  if (part_.empty() || !file_) return;
  const auto where = file_->add(part_);
  part_.clear();
  if (where) {
    parts_.push_back(*where);
  } else {
    file_.reset();
  }
}

std::size_t CallRowsWriter::rows_of(std::uint32_t function) const {
  return function < streams_.size() ? streams_[function].rows : 0;
}

void CallRowsWriter::drop(std::uint32_t function) {
  if (function < streams_.size()) streams_[function] = {};
}

void CallRowsWriter::finish(std::span<const KeptFunction> functions, std::uint64_t number) {
  streams_.resize(functions.size());
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].rows && !streams_[i].out.empty()) write_chunk(streams_[i]);
  }
  end_part();
  if (file_) file_->finish(head_of(functions, number));
}

std::vector<std::uint8_t> CallRowsWriter::head_of(std::span<const KeptFunction> functions,
                                                  std::uint64_t number) {
  NumberWriter out;
  out.number(kRowsVersion);
  out.number(number);
  out.number(functions.size());
  for (const KeptFunction& f : functions) {
    out.text(f.function.name);
    out.text(f.function.object);
    out.number((f.called ? kCalled : 0) | (f.rows ? kHasRows : 0) |
               (f.function.synthetic ? kSynthetic : 0));
  }
  out.number(who_.size());
  for (const Who& who : who_) {
    out.number(coded(who.thread.tid));
    out.number(who.thread.queue);
    out.number(coded(who.pid));
    out.number(who.space);
    out.number(who.visit);
  }
  out.number(parts_.size());
  for (const CallStore::Part& part : parts_) {
    out.number(part.offset);
    out.number(part.packed);
    out.number(part.size);
  }
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (!functions[i].rows) continue;
    out.number(streams_[i].rows);
    out.number(streams_[i].chunks.size());
    for (const RowChunk& chunk : streams_[i].chunks) {
      out.number(chunk.part);
      out.number(chunk.offset);
      out.number(chunk.size);
    }
  }
  return out.take();
}

std::optional<CallRowsReader> CallRowsReader::open(std::unique_ptr<const CallStore::File> file) {
  if (file == nullptr) return std::nullopt;
  CallRowsReader out;
  out.file_ = std::move(file);
  if (!out.read_head()) return std::nullopt;
  return out;
}

bool CallRowsReader::read_head() {
  NumberReader in(file_->head());
  if (in.number() != kRowsVersion) return false;
  number_ = in.number();
  for (std::size_t i = in.count(kLeastOfFunction); i > 0 && in.good(); --i) {
    KeptFunction& f = functions_.emplace_back();
    f.function.name = in.text();
    f.function.object = in.text();
    const std::uint64_t how = in.number(kCalled | kHasRows | kSynthetic);
    f.called = (how & kCalled) != 0;
    if ((how & kHasRows) != 0) f.rows = 0;
    f.function.synthetic = (how & kSynthetic) != 0;
  }
  for (std::size_t i = in.count(kLeastOfWho); i > 0 && in.good(); --i) {
    Who& who = who_.emplace_back();
    who.thread.tid = number_in(in);
    who.thread.queue = number32_in(in);
    who.pid = number_in(in);
    who.space = number32_in(in);
    who.visit = number32_in(in);
  }
  for (std::size_t i = in.count(kLeastOfPart); i > 0 && in.good(); --i) {
    CallStore::Part& part = parts_.emplace_back();
    part.offset = in.number();
    part.packed = in.number();
    part.size = in.number(CallStore::kLargestPart);
  }
  chunks_.resize(functions_.size());
  for (std::size_t i = 0; i < functions_.size() && in.good(); ++i) {
    if (!functions_[i].rows) continue;
    functions_[i].rows = static_cast<std::size_t>(in.number());
    std::uint64_t bytes = 0;
    std::pair<std::uint64_t, std::uint64_t> behind{0, 0};
    for (std::size_t n = in.count(kLeastOfChunk); n > 0 && in.good(); --n) {
      RowChunk& chunk = chunks_[i].emplace_back();
      chunk.part = number32_in(in);
      chunk.offset = number32_in(in);
      chunk.size = number32_in(in);
      // Each byte is read once, or somebody could make few of them take long.
      const std::pair<std::uint64_t, std::uint64_t> at{chunk.part, chunk.offset};
      if (chunk.part >= parts_.size() || at < behind) return false;
      const std::uint64_t size = parts_[chunk.part].size;
      if (chunk.offset > size || chunk.size > size - chunk.offset) return false;
      behind = {chunk.part, std::uint64_t{chunk.offset} + chunk.size};
      bytes += chunk.size;
    }
    if (*functions_[i].rows > bytes / kLeastOfRow) return false;
  }
  return in.good() && in.at_end();
}

bool CallRowsReader::read_row(NumberReader& in, KeptRow& kept) const {
  constexpr auto kLastOutcome = static_cast<std::uint64_t>(CallRow::Outcome::open);
  CallRow& row = kept.row;
  const std::uint64_t who = in.number();
  if (who >> kWhoShift >= who_.size()) return false;
  const std::uint64_t outcome = who & ((std::uint64_t{1} << kOutcomeBits) - 1);
  if (outcome > kLastOutcome) return false;
  row.outcome = static_cast<CallRow::Outcome>(outcome);
  const Who& of = who_[static_cast<std::size_t>(who >> kWhoShift)];
  row.at.thread = row.until.thread = of.thread;
  row.pid = of.pid;
  row.space = of.space;
  kept.visit = of.visit;
  row.at.branch = in.step(row.at.branch);
  row.until.branch = row.at.branch + in.number();
  row.instructions = in.number();
  row.site = in.step(row.site);
  row.caller = static_cast<std::uint32_t>(in.number(functions_.size())) - 1;
  row.duration = 0;
  if ((who & kTimed) != 0) {
    row.time = in.step(row.time);
    row.ticks = in.step(row.ticks);
    row.duration = in.number();
  }
  return in.good();
}

bool CallRowsReader::read(std::uint32_t function, std::vector<KeptRow>& out) const {
  std::size_t left = *functions_[function].rows;
  out.reserve(out.size() + left);
  std::optional<std::vector<std::uint8_t>> part;
  const RowChunk* before = nullptr;
  for (const RowChunk& chunk : chunks_[function]) {
    if (before == nullptr || before->part != chunk.part) part = file_->part(parts_[chunk.part]);
    before = &chunk;
    if (!part || part->size() != parts_[chunk.part].size) return false;
    const std::span<const std::uint8_t> bytes(*part);
    NumberReader in(bytes.subspan(chunk.offset, chunk.size));
    KeptRow kept;
    kept.row.function = function;
    while (!in.at_end()) {
      if (left-- == 0 || !read_row(in, kept)) return false;
      out.push_back(kept);
    }
  }
  return left == 0;
}

}  // namespace hodo::ask
