#include "hodo/session/time_order.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <queue>
#include <type_traits>
#include <vector>

#include "hodo/session/temp_file.h"
#include "pt/by_time.h"

namespace hodo::session {
namespace {

// A branch that waits for its turn.
struct Waiting {
  Branch branch;
  Context context;
  std::uint64_t order = 0;  // its time, or that of the branch before it if it has none
};
static_assert(std::is_trivially_copyable_v<Waiting>);

// Writes the branches of one queue after the other to a file.
class Spill final : public BranchSink {
 public:
  explicit Spill(std::size_t queues) : ends_(queues) {}

  Status open() { return file_.open(); }

  bool branches(const Context& context, std::span<const Branch> batch) override {
    if (context.queue != queue_) order_ = 0;
    queue_ = context.queue;
    for (const Branch& branch : batch) {
      order_ = std::max(order_, branch.time);
      buffer_.push_back({branch, context, order_});
    }
    ends_[queue_] = file_.size() / sizeof(Waiting) + buffer_.size();
    return buffer_.size() < kBuffered || flush();
  }

  bool flush() {
    auto* bytes = reinterpret_cast<const std::uint8_t*>(buffer_.data());
    if (status_) status_ = file_.append({bytes, buffer_.size() * sizeof(Waiting)});
    buffer_.clear();
    return status_.has_value();
  }

  const Status& status() const { return status_; }
  TempFile& file() { return file_; }
  // Behind each queue's last branch, as a number of Waitings; 0 for queues without any.
  const std::vector<std::uint64_t>& ends() const { return ends_; }

 private:
  static constexpr std::size_t kBuffered = 1 << 14;

  TempFile file_;
  Status status_;
  std::vector<Waiting> buffer_;
  std::vector<std::uint64_t> ends_;
  std::uint32_t queue_ = 0;
  std::uint64_t order_ = 0;
};

// Reads Waitings out of mapped bytes.
class Store {
 public:
  explicit Store(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  Waiting operator[](std::uint64_t index) const {
    Waiting out;
    std::memcpy(static_cast<void*>(&out), bytes_.data() + index * sizeof out, sizeof out);
    return out;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

// Where a queue's merge stands.
struct Head {
  std::uint64_t order;
  std::uint32_t queue;
  std::uint64_t next;
  std::uint64_t end;
  bool operator>(const Head& other) const {
    return order != other.order ? order > other.order : queue > other.queue;
  }
};

// Collects branches of one context and hands them on together.
class Batcher {
 public:
  explicit Batcher(BranchSink& sink) : sink_(sink) {}
  bool add(const Waiting& waiting) {
    bool full = batch_.size() == kBatch || (!batch_.empty() && !(waiting.context == context_));
    if (full && !flush()) return false;
    context_ = waiting.context;
    batch_.push_back(waiting.branch);
    return true;
  }
  bool flush() {
    bool more = batch_.empty() || sink_.branches(context_, batch_);
    batch_.clear();
    return more;
  }

 private:
  static constexpr std::size_t kBatch = 4096;
  BranchSink& sink_;
  Context context_;
  std::vector<Branch> batch_;
};

// False: stopped by `progress`.
bool merge(const Store& store, const std::vector<std::uint64_t>& ends, BranchSink& sink,
           const ProgressFunction& progress) {
  constexpr std::uint64_t kBetweenTellings = 1 << 16;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  std::uint64_t begin = 0;
  for (std::uint32_t queue = 0; queue < ends.size(); ++queue) {
    if (ends[queue] <= begin) continue;
    heads.push({store[begin].order, queue, begin, ends[queue]});
    begin = ends[queue];
  }
  Batcher batcher(sink);
  for (std::uint64_t merged = 1; !heads.empty(); ++merged) {
    Head head = heads.top();
    heads.pop();
    if (!batcher.add(store[head.next])) return true;
    if (merged % kBetweenTellings == 0 && !progress(merged, ends.back())) return false;
    if (++head.next == head.end) continue;
    head.order = store[head.next].order;
    heads.push(head);
  }
  batcher.flush();
  return true;
}

// By a file in which all branches wait.
Result<Outcome> decode_and_sort(Session& session, const DecodeOptions& options, BranchSink& sink) {
  Spill spill(session.queues().size());
  if (Status status = spill.open(); !status) return std::unexpected(status.error());
  auto outcome = session.decode(options, spill);
  if (!outcome) return outcome;
  spill.flush();
  if (!spill.status()) return std::unexpected(spill.status().error());
  auto bytes = spill.file().map();
  if (!bytes) return std::unexpected(bytes.error());
  if (!merge(Store(*bytes), spill.ends(), sink, options.progress)) return was_stopped();
  return outcome;
}

}  // namespace

Result<Outcome> decode_by_time(Session& session, const DecodeOptions& options, BranchSink& sink) {
  // One queue is in order.
  if (session.queues().size() < 2) return session.decode(options, sink);
  auto* const input = dynamic_cast<PtInput*>(&session);
  if (input == nullptr) return decode_and_sort(session, options, sink);
  ByTime merging(session, *input, options);
  return merging.queues() <= ByTime::kMostQueues ? merging.decode(sink)
                                                 : decode_and_sort(session, options, sink);
}

}  // namespace hodo::session
