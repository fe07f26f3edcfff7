// An iterator of Python's over blocks of rows, which a thread decodes meanwhile.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "errors.h"
#include "feed.h"
#include "hodo/view/losses.h"

namespace hodo::python {

// Rows of at most so many are a block.
inline constexpr std::size_t kMostInBlock = std::size_t{1} << 20;

template <class Row>
class Blocks {
 public:
  using Work = std::function<Result<session::Outcome>(Feed<Row>&)>;

  // `session` is the thread's own, for as long as it decodes; `work` fills the feed from it.
  Blocks(std::unique_ptr<session::Session> session, std::size_t block, Work work)
      : session_(std::move(session)),
        feed_(std::make_unique<Feed<Row>>(block)),
        thread_([this, work = std::move(work)] { feed_->end(within_memory(work)); }) {}
  ~Blocks() { close(); }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  // The next block. Its memory is the array's.
  pybind11::array_t<Row> next() {
    for (;;) {
      if (feed_->at_end()) stop_iteration();
      std::vector<Row> rows;
      {
        const pybind11::gil_scoped_release others;
        rows = feed_->take(std::chrono::milliseconds(100));
      }
      if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
      if (!rows.empty()) return array_of(std::move(rows));
    }
  }
  // Ends the decoding; what was not taken is gone. Several threads may.
  void close() {
    feed_->stop();
    const pybind11::gil_scoped_release others;
    const std::scoped_lock one_by_one(closing_);
    if (thread_.joinable()) thread_.join();
  }
  // Of what was decoded, as JSON; null before the end.
  std::string losses() const {
    if (!feed_->at_end() || !feed_->outcome()) return "null";
    return view::json_text(view::losses_json(feed_->outcome()->losses, session_->clock()));
  }

 private:
  // What a thread throws and nobody catches ends the interpreter.
  Result<session::Outcome> within_memory(const Work& work) {
    try {
      return work(*feed_);
    } catch (const std::bad_alloc&) {
      return fail(ErrorCode::no_space,
                  "there is not enough memory for these rows; remedy: ask for a part or for "
                  "smaller blocks, or let Python have more memory (ulimit -v)");
    }
  }
  [[noreturn]] void stop_iteration() {
    if (feed_->wanted() && !feed_->outcome()) raise(feed_->outcome().error(), session_->path());
    throw pybind11::stop_iteration();
  }
  static pybind11::array_t<Row> array_of(std::vector<Row> rows) {
    auto kept = std::make_unique<std::vector<Row>>(std::move(rows));
    const auto size = static_cast<pybind11::ssize_t>(kept->size());
    Row* const first = kept->data();
    const pybind11::capsule owner(kept.release(),
                                  [](void* all) { delete static_cast<std::vector<Row>*>(all); });
    return pybind11::array_t<Row>({size}, {static_cast<pybind11::ssize_t>(sizeof(Row))}, first,
                                  owner);
  }

  std::unique_ptr<session::Session> session_;
  std::unique_ptr<Feed<Row>> feed_;
  std::mutex closing_;
  std::thread thread_;
};

}  // namespace hodo::python
