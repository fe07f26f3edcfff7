#include "hodo/serve/lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
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

// Messages that wait for their answers.
class Waiting {
 public:
  void put(std::string message) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return has_room() || closed_; });
    bytes_ += message.size();
    messages_.push_back(std::move(message));
    changed_.notify_all();
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  std::optional<std::string> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !messages_.empty() || closed_; });
    if (messages_.empty()) return std::nullopt;
    std::string out = std::move(messages_.front());
    messages_.pop_front();
    bytes_ -= out.size();
    changed_.notify_all();
    return out;
  }

 private:
  bool has_room() const { return messages_.size() < kMostWaiting && bytes_ < kMostWaitingBytes; }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> messages_;
  std::size_t bytes_ = 0;  // of them
  bool closed_ = false;
};

std::string progress_line(const Progress& now) {
  return one_line(
      {{"jsonrpc", "2.0"},
       {"method", "progress"},
       {"params",
        {{"id", now.question}, {"what", now.what}, {"done", now.done}, {"total", now.total}}}});
}

bool blank(const std::string& line) { return line.find_first_not_of(" \t\r") == std::string::npos; }

void answer(Workspace& workspace, const std::string& message, Speech speech, LineWriter& writer) {
  if (speech == Speech::mcp) {
    if (auto said = answer_mcp_message(workspace, message)) writer.write(std::move(*said));
    return;
  }
  const auto hear = [&writer](const Progress& now) { writer.write(progress_line(now)); };
  if (auto said = answer_message(workspace, message, hear)) writer.write(std::move(*said));
}

}  // namespace

Status answer_lines(Workspace& workspace, int in, int out, Speech speech) {
  LineReader reader(in);
  LineWriter writer(out);
  Waiting waiting;
  {
    const std::jthread answering([&] {
      while (const auto message = waiting.take()) {
        if (writer.error() == 0) answer(workspace, *message, speech, writer);
      }
    });
    while (auto line = reader.next()) {
      if (writer.error() != 0) break;
      if (blank(*line)) continue;
      if (speech == Speech::rpc && is_beside(*line)) {
        answer(workspace, *line, speech, writer);
      } else {
        waiting.put(std::move(*line));
      }
    }
    waiting.close();
  }
  const int error = writer.error() == EPIPE ? 0 : writer.error();
  if (error == 0 && reader.error() == 0) return {};
  return fail(ErrorCode::io,
              fmt::format("{}: {}", error != 0 ? "writing answers" : "reading questions",
                          std::generic_category().message(error != 0 ? error : reader.error())));
}

}  // namespace hodo::serve
