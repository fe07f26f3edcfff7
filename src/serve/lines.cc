#include "hodo/serve/lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <thread>

#include "hodo/serve/mcp.h"
#include "hodo/serve/rpc.h"

namespace hodo::serve {
namespace {

// Messages, and bytes of them; then nothing more is read.
constexpr std::size_t kMostWaiting = 1000;
constexpr std::size_t kMostWaitingBytes = 2 * kLongestMessage;

// Cuts what is read into lines.
class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}

  // nullopt: the end, or an error. What is too long comes as its beginning, longer than
  // kLongestMessage, so that whoever parses it says so.
  std::optional<std::string> next() {
    for (;;) {
      if (const auto end = buffer_.find('\n', looked_); end != buffer_.npos) return take(end);
      looked_ = buffer_.size();
      if (buffer_.size() > kLongestMessage) drop_rest_ = true;
      if (drop_rest_) buffer_.resize(std::min(buffer_.size(), kLongestMessage + 1));
      looked_ = buffer_.size();
      if (!fill()) break;
    }
    if (buffer_.empty()) return std::nullopt;
    return std::exchange(buffer_, {});
  }
  int error() const { return error_; }

 private:
  std::string take(std::size_t end) {
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    looked_ = 0;
    drop_rest_ = false;
    return line;
  }

  bool fill() {
    char bytes[65536];
    ssize_t got = 0;
    do {
      got = ::read(fd_, bytes, sizeof bytes);
    } while (got < 0 && errno == EINTR);
    if (got < 0) error_ = errno;
    if (got <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }

  int fd_;
  std::string buffer_;
  std::size_t looked_ = 0;  // no line ends before
  bool drop_rest_ = false;
  int error_ = 0;
};

// Writes whole lines, from any thread.
class LineWriter {
 public:
  explicit LineWriter(int fd) : fd_(fd) {}

  void write(std::string line) {
    line += '\n';
    const std::scoped_lock lock(mutex_);
    std::string_view left = line;
    while (!left.empty() && error_ == 0) {
      const ssize_t put = ::write(fd_, left.data(), left.size());
      if (put >= 0) {
        left.remove_prefix(static_cast<std::size_t>(put));
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
  }
  int error() {
    const std::scoped_lock lock(mutex_);
    return error_;
  }

 private:
  int fd_;
  std::mutex mutex_;
  int error_ = 0;
};

// A message with its number, in the order in which they came.
struct Message {
  std::string text;
  std::uint64_t number = 0;
};

// Questions that were given up: of a message that came before, by their ids.
class GivenUp {
 public:
  // `next`: the number of the next message.
  void add(const Json& id, std::uint64_t next) {
    const std::scoped_lock lock(mutex_);
    if (all_.size() == kMostWaiting) all_.pop_front();
    all_.push_back({id.dump(), next});
  }
  bool has(const Json& id, std::uint64_t message) {
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(
        all_, [&](const Entry& e) { return message < e.next && e.id == id.dump(); });
  }
  // Messages up to this one are answered.
  void done(std::uint64_t message) {
    const std::scoped_lock lock(mutex_);
    while (!all_.empty() && all_.front().next <= message + 1) all_.pop_front();
  }

 private:
  struct Entry {
    std::string id;
    std::uint64_t next = 0;
  };
  std::mutex mutex_;
  std::deque<Entry> all_;
};

// Messages that wait for their answers.
class Waiting {
 public:
  void put(Message message) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return has_room() || closed_; });
    bytes_ += message.text.size();
    messages_.push_back(std::move(message));
    changed_.notify_all();
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  std::optional<Message> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !messages_.empty() || closed_; });
    if (messages_.empty()) return std::nullopt;
    Message out = std::move(messages_.front());
    messages_.pop_front();
    bytes_ -= out.text.size();
    changed_.notify_all();
    return out;
  }

 private:
  bool has_room() const { return messages_.size() < kMostWaiting && bytes_ < kMostWaitingBytes; }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Message> messages_;
  std::size_t bytes_ = 0;  // of them
  bool closed_ = false;
};

class Closing {
 public:
  explicit Closing(Waiting& waiting) : waiting_(waiting) {}
  ~Closing() { waiting_.close(); }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;

 private:
  Waiting& waiting_;
};

std::string progress_line(const Progress& now) {
  return one_line(
      {{"jsonrpc", "2.0"},
       {"method", "progress"},
       {"params",
        {{"id", now.question}, {"what", now.what}, {"done", now.done}, {"total", now.total}}}});
}

bool blank(const std::string& line) { return line.find_first_not_of(" \t\r") == std::string::npos; }

std::string no_memory_line() {
  const Error error{ErrorCode::no_space,
                    "there is not enough memory for the message and its answers; remedy: fewer "
                    "questions at once, or let hodo have more memory (ulimit -v)"};
  return one_line({{"jsonrpc", "2.0"},
                   {"id", nullptr},
                   {"error", error_json(kQuestionFailed, error.message, &error)}});
}

// One side of a conversation.
class Speaker {
 public:
  Speaker(Workspace& workspace, Speech speech, int out)
      : workspace_(workspace), speech_(speech), writer_(out) {}

  void answer(const Message& message) {
    const Asker asker{.hear = [this](const Progress& now) { tell(now); },
                      .gave_up =
                          [&](const Json& id) {
                            return writer_.error() != 0 || given_up_.has(id, message.number);
                          }};
    try {
      auto said = speech_ == Speech::mcp ? answer_mcp_message(workspace_, message.text, asker)
                                         : answer_message(workspace_, message.text, asker);
      if (said) writer_.write(std::move(*said));
    } catch (const std::bad_alloc&) {  // for its words; for an answer see within_memory()
      writer_.write(no_memory_);
    }
  }
  // Those that wait are answered until nobody hears it any more.
  void answer_all(Waiting& waiting) {
    while (const auto message = waiting.take()) {
      if (writer_.error() == 0) answer(*message);
      given_up_.done(message->number);
    }
  }
  // False: it is to wait for its turn.
  bool handled_at_once(const Message& message) {
    if (const auto id = cancelled_by(message.text)) {
      given_up_.add(*id, message.number);
      return true;
    }
    if (speech_ != Speech::rpc || !is_beside(message.text)) return false;
    answer(message);
    return true;
  }
  int error() { return writer_.error(); }

 private:
  // Tools have no word for it.
  void tell(const Progress& now) {
    if (speech_ == Speech::rpc) writer_.write(progress_line(now));
  }

  Workspace& workspace_;
  Speech speech_;
  LineWriter writer_;
  GivenUp given_up_;
  const std::string no_memory_ = no_memory_line();  // while there is some
};

}  // namespace

Status answer_lines(Workspace& workspace, int in, int out, Speech speech) {
  LineReader reader(in);
  Speaker speaker(workspace, speech, out);
  Waiting waiting;
  {
    const std::jthread answering([&] { speaker.answer_all(waiting); });
    const Closing closing(waiting);  // also where memory for a message ends
    std::uint64_t number = 0;
    while (auto line = reader.next()) {
      if (speaker.error() != 0) break;
      if (blank(*line)) continue;
      Message message{std::move(*line), number++};
      if (!speaker.handled_at_once(message)) waiting.put(std::move(message));
    }
  }
  const int error = speaker.error() == EPIPE ? 0 : speaker.error();
  if (error == 0 && reader.error() == 0) return {};
  return fail(ErrorCode::io,
              fmt::format("{}: {}", error != 0 ? "writing answers" : "reading questions",
                          std::generic_category().message(error != 0 ? error : reader.error())));
}

}  // namespace hodo::serve
