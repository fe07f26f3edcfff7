// One piece decoded by several threads, told in order by the one that asked.
//
// A PSB+ says nearly all that decoding needs to begin: a thread can start at any PSB, if it assumes
// the rest (the clock without timing packets, that nothing was just lost). So the piece is cut into
// stretches that begin at a PSB. Each is decoded from an assumed state, and what it says is logged.
// The asking thread goes from stretch to stretch with the true state: where it equals the assumed
// one, the log is what it would have decoded itself, and is handed on; where not, it decodes the
// stretch itself. What is told so never depends on the number of threads.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "hodo/flow/decoder.h"
#include "hodo/flow/transfers.h"
#include "output.h"
#include "path_decoder.h"

namespace hodo::flow {

struct Unread {};

// What one thread knows of the code.
struct Knowledge {
  explicit Knowledge(const image::CodeSource& code) : blocks(code) {}
  BlockCache blocks;
  PathMemo memo;
  StepGraph graph{blocks};
  // Each log has a copy for each batch of passages in the links of `graph`, and of repeats in the
  // numbers of `memo`.
  std::shared_ptr<const Unread> unread = std::make_shared<const Unread>();
};

// What decoding a stretch has said so far, in order.
class Log {
 public:
  struct Progress {
    std::uint64_t offset = 0;
  };
  struct LeavingOut {  // as Transfers
    std::vector<Branch> walked;
    std::vector<Transfers::Row> rows;
    std::vector<Transfer> list;
    std::shared_ptr<const TransferBook> book;
    Branch last;
    std::vector<CodeLine> lines;
    std::vector<CallSpan> spans;
    std::vector<ReturnedCall> returned;
    std::vector<OpenedCall> opened;
    std::vector<SingleCall> singles;
    std::vector<PassedCalls> passed;
    std::vector<std::uint64_t> noted;
    std::vector<SummedSpan> summed;
    std::vector<CalledPath> paths;
    std::vector<LeftOpen> left_open;
  };
  struct Passing {  // as Passages
    std::vector<Branch> walked;
    std::vector<Passage> list;
    std::vector<Passages::Entry> entries;
    std::vector<Link> returns;
    std::vector<std::uint64_t> addresses;
    const Passages::Reader* reader = nullptr;
    std::shared_ptr<const Unread> unread;
  };
  struct Repeating {  // as Repeats
    std::vector<Branch> walked;
    std::vector<Repeat> list;
    std::uint32_t memory = 0;
    std::span<const std::uint32_t> numbers;
    std::span<const Branch> edges;
    std::shared_ptr<const Unread> unread;
  };
  using Entry = std::variant<std::vector<Branch>, std::string, LeavingOut, Passing, Repeating,
                             std::vector<EdgeCount>, std::vector<RunCount>, Loss, Event, Progress>;

  void add(Entry entry);
  std::size_t bytes() const { return bytes_; }
  std::vector<Entry> take();

 private:
  std::vector<Entry> entries_;
  std::size_t bytes_ = 0;
};

class Crew {
 public:
  // Starting threads takes longer than decoding a little.
  static bool is_worth_it(const Piece& piece, const Config& config) {
    return config.threads > 1 && !config.want_instructions &&
           piece.bytes.size() / 2 >= config.thread_bytes;
  }

  // One thread for each knowledge. All must outlive the crew; `head` has begun the piece, or paused
  // in it, and tells `out`, which hands on to `to`. `limit` as PieceWalk has it, `by_steps` as
  // PathDecoder. `wrong` is 0 where a piece begins, and goes on from crew to crew.
  Crew(const Piece& piece, std::size_t limit, const Config& config, const Receivers& to,
       bool by_steps, PathDecoder& head, Output& out,
       std::span<const std::unique_ptr<Knowledge>> knowledge, int& wrong);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Until `head` has paused at the limit; false: to the end of the piece, or until no more is
  // wanted. `at_stretch` hears of the true state where a stretch begins, when all before it has
  // been told.
  using AtStretch = std::function<void(const PathDecoder::State&)>;
  // Throws what a thread has thrown.
  bool decode(const AtStretch& at_stretch = {});

 private:
  struct Stretch;
  class Recorder;

  // The asking thread's part.
  void extend();
  std::size_t next_begin(std::size_t from) const;
  bool pass_on(Stretch& stretch);
  bool tell(Log::Entry& entry);
  void tell(Log::LeavingOut& batch);
  void tell(Log::Passing& batch);
  void tell(Log::Repeating& batch);
  bool go_on_by_itself();
  std::size_t limit_by_itself() const;
  void drop_front();
  void cancel_all();

  // The others' part.
  void start(std::span<const std::unique_ptr<Knowledge>> knowledge);
  void work_safely(Knowledge& knowledge);
  void work(Knowledge& knowledge);
  void decode(Stretch& stretch, const PathDecoder::State& known, Knowledge& knowledge,
              BranchWriter* writer);
  void add(Stretch& stretch, std::span<const Branch> batch);
  void add(Stretch& stretch, Log::Entry entry);
  void wait_for_readers(Stretch& stretch, const Knowledge& knowledge);
  void recycle(std::vector<Log::Entry>& entries);
  std::string spare_text();

  const Piece& piece_;
  const std::size_t limit_;  // kEnd: none but the piece's end
  const Config& config_;
  const Receivers to_;
  const bool by_steps_;
  PathDecoder& head_;
  Output& out_;
  PathDecoder::State state_;  // the true one; head_ may be elsewhere
  std::size_t next_begin_ = 0;
  bool carry_ = false;   // the next branch from a log lacks the instructions of state_
  int& wrong_;           // assumptions in a row, or kMostWrong: to decode ahead does not pay
  bool marked_ = false;  // somebody hears of stretches

  std::mutex mutex_;
  std::condition_variable work_;  // there is a stretch to decode, or none will come
  std::condition_variable news_;  // a stretch has assumed, said something or finished
  std::condition_variable room_;  // a log is being emptied
  PathDecoder::State known_;      // the latest true state
  std::deque<std::shared_ptr<Stretch>> stretches_;  // those not yet told, in order
  bool writes_ = false;                             // as the sink said last
  std::vector<std::vector<Branch>> spare_;          // of logs that were told, to be used again
  std::vector<std::string> spare_texts_;
  bool over_ = false;
  std::exception_ptr thrown_;  // by a thread, which has ended
  std::size_t most_ahead_;
  std::vector<std::jthread> threads_;  // last: ends first
};

}  // namespace hodo::flow
