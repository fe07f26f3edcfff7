// An index as bytes: numbers of seven bits to a byte, since most are small.
#include <algorithm>
#include <array>

#include "hodo/ask/index.h"

namespace hodo::ask {
namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kMostCalls = std::uint64_t{1} << 20;

class Writer {
 public:
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<std::uint8_t>(value));
  }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

// Numbers that anybody may have made up: once one is missing or too large, all are 0, and good() is
// false.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint64_t number(std::uint64_t most = ~std::uint64_t{0}) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; good_; shift += 7) {
      if (at_ == bytes_.size() || shift > 63) break;
      const std::uint8_t byte = bytes_[at_++];
      if (shift == 63 && byte > 1) break;
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) != 0) continue;
      if (value > most) break;
      return value;
    }
    good_ = false;
    return 0;
  }
  // How many things follow, each of which takes a byte at least.
  std::size_t count() { return static_cast<std::size_t>(number(bytes_.size() - at_)); }
  bool good() const { return good_; }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

void write(const analyze::CallClock& clock, Writer& out) {
  out.number(clock.branches);
  out.number(clock.instructions);
  out.number(clock.time);
  out.number(clock.ticks);
}

analyze::CallClock read_clock(Reader& in) {
  analyze::CallClock out;
  out.branches = in.number();
  out.instructions = in.number();
  out.time = in.number();
  out.ticks = in.number();
  return out;
}

void write(const IndexedCall& call, Writer& out) {
  out.number(call.call.site);
  out.number(call.call.entry);
  write(call.call.since, out);
  out.number(static_cast<std::uint64_t>(call.call.how) * 2 + (call.call.by_call ? 1 : 0));
  out.number(call.site);
}

IndexedCall read_call(Reader& in) {
  IndexedCall out;
  out.call.site = in.number();
  out.call.entry = in.number();
  out.call.since = read_clock(in);
  const std::uint64_t how =
      in.number(static_cast<std::uint64_t>(analyze::CallEntry::outside) * 2 + 1);
  out.call.how = static_cast<analyze::CallEntry>(how / 2);
  out.call.by_call = how % 2 != 0;
  out.site = in.number();
  return out;
}

void write(const Segment& s, Writer& out) {
  out.number(static_cast<std::uint64_t>(std::int64_t{s.thread.tid} + 1));
  out.number(s.thread.queue);
  out.number(s.queue);
  out.number(s.from ? 1 : 0);
  if (s.from) {
    out.number(s.from->offset);
    for (const std::uint64_t word : s.from->state) out.number(word);
  }
  for (const std::uint64_t value :
       {s.branches, s.time, std::uint64_t{s.calls.space}, std::uint64_t{s.calls.started},
        s.calls.last_time, s.calls.ended_at, std::uint64_t{s.kept}, s.call_before, s.return_before,
        s.last_loss}) {
    out.number(value);
  }
  write(s.calls.clock, out);
  out.number(s.opened.size());
  for (const IndexedCall& call : s.opened) write(call, out);
  out.number(s.returns.size());
  for (const auto& [slot, address] : s.returns) {
    out.number(slot);
    out.number(address);
  }
}

Segment read_segment(Reader& in, std::size_t queues) {
  constexpr std::uint64_t kMost32 = ~std::uint32_t{0};
  Segment s;
  s.thread.tid =
      static_cast<std::int32_t>(static_cast<std::int64_t>(in.number(std::uint64_t{1} << 31)) - 1);
  s.thread.queue = static_cast<std::uint32_t>(in.number(kMost32));
  s.queue = static_cast<std::uint32_t>(in.number(queues - 1));
  if (in.number(1) != 0) {
    s.from.emplace();
    s.from->offset = in.number();
    for (std::uint64_t& word : s.from->state) word = in.number();
  }
  s.branches = in.number();
  s.time = in.number();
  s.calls.space = static_cast<std::uint32_t>(in.number(kMost32));
  s.calls.started = in.number(1) != 0;
  s.calls.last_time = in.number();
  s.calls.ended_at = in.number();
  s.kept = static_cast<std::size_t>(in.number(kMostCalls));
  s.call_before = in.number();
  s.return_before = in.number();
  s.last_loss = in.number();
  s.calls.clock = read_clock(in);
  for (std::size_t i = in.count(); i > 0 && in.good(); --i) s.opened.push_back(read_call(in));
  for (std::size_t i = in.count(); i > 0 && in.good(); --i) {
    const auto slot = static_cast<std::uint32_t>(in.number(kMost32));
    s.returns.emplace_back(slot, in.number());
  }
  return s;
}

// What follows from how segments are made, and what those who use them rely on.
bool fits(const Segment& s, const Segment* before, const Segment* of_thread) {
  const bool same_queue = before != nullptr && before->queue == s.queue;
  if (s.from.has_value() != same_queue) return false;
  if (same_queue && before->thread != s.thread) return false;
  if (same_queue && before->from && before->from->offset >= s.from->offset) return false;
  if (of_thread == nullptr) return s.branches == 0 && s.kept == 0;
  return s.branches >= of_thread->branches && s.time >= of_thread->time;
}

}  // namespace

std::vector<std::uint8_t> Index::write() const {
  Writer out;
  out.number(kVersion);
  out.number(segments_.size());
  for (const Segment& s : segments_) ask::write(s, out);
  return out.take();
}

std::optional<Index> Index::read(std::span<const std::uint8_t> bytes, std::size_t queues) {
  Reader in(bytes);
  if (queues == 0 || in.number() != kVersion) return std::nullopt;
  Index out;
  for (std::size_t i = in.count(); i > 0; --i) {
    Segment s = read_segment(in, queues);
    if (!in.good()) return std::nullopt;
    const Segment* before = out.segments_.empty() ? nullptr : &out.segments_.back();
    const auto same = std::find_if(out.segments_.rbegin(), out.segments_.rend(),
                                   [&](const Segment& o) { return o.thread == s.thread; });
    const Segment* of_thread = same == out.segments_.rend() ? nullptr : &*same;
    if (!fits(s, before, of_thread)) return std::nullopt;
    out.segments_.push_back(std::move(s));
  }
  if (!in.at_end() || !in.good()) return std::nullopt;
  return out;
}

}  // namespace hodo::ask
