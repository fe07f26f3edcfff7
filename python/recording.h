// An open recording, as Python has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "blocks.h"
#include "hodo/ask/window.h"
#include "hodo/serve/asking.h"
#include "hodo/serve/workspace.h"

namespace hodo::python {

// A branch: what `hodo branches --format bin` writes of it, and more (docs/python.md).
struct BranchRow {
  std::uint64_t time = 0;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t cr3 = ~std::uint64_t{0};
  std::int32_t cpu = -1;
  std::int32_t pid = -1;
  std::int32_t tid = -1;
  std::uint8_t kind = 0;
  std::uint8_t flags = 0;
  std::uint16_t cycles = 0;
  std::uint64_t number = 0;  // of the thread's branches; one not taken has that of the next
  std::uint32_t insns = 0;
  std::uint32_t space = 0;
};
static_assert(sizeof(BranchRow) == 64);

// A call that has ended, or was open where the thread's path ends.
struct CallEntry {
  std::uint64_t at = 0;     // branches of the thread before its first instruction
  std::uint64_t until = 0;  // and behind its end
  std::uint64_t time = 0;
  std::uint64_t duration = 0;
  std::uint64_t instructions = 0;
  std::uint64_t site = 0;
  std::int32_t pid = -1;
  std::int32_t tid = -1;
  std::uint32_t queue = 0;
  std::uint32_t function = 0;
  std::uint32_t caller = 0;
  std::uint32_t depth = 0;
  std::uint32_t outcome = 0;
  std::uint32_t space = 0;
};
static_assert(sizeof(CallEntry) == 80);

// A function that calls are of; names are UTF-8 (view::utf8).
struct FunctionName {
  std::string name;
  std::string object;
};

// What is to be decoded.
struct Part {
  std::string thread;  // "4242", "q0"; empty: all
  std::int32_t pid = -1;
  serve::WindowInput window{};
  bool not_taken = false;
  std::size_t block = 0;
};

class Functions;  // those met so far, by number
class CallBlocks {
 public:
  CallBlocks(std::shared_ptr<Functions> functions, std::unique_ptr<Blocks<CallEntry>> blocks);
  ~CallBlocks();
  pybind11::array_t<CallEntry> next() { return blocks_->next(); }
  void close() { blocks_->close(); }
  std::string losses() const { return blocks_->losses(); }
  std::vector<FunctionName> functions() const;

 private:
  std::shared_ptr<Functions> functions_;
  std::unique_ptr<Blocks<CallEntry>> blocks_;
};

// Throws Failure. Any thread may use it; questions wait for each other.
class Recording {
 public:
  explicit Recording(const serve::OpenOptions& options);

  const std::string& path() const { return options_.input.path; }
  // The answer of a method of `hodo serve`, as JSON.
  std::string ask(const std::string& method, const std::string& params);
  // Each with a session of its own, so that questions can be asked meanwhile.
  std::unique_ptr<Blocks<BranchRow>> branches(const Part& part) const;
  std::unique_ptr<CallBlocks> calls(const Part& part) const;

 private:
  std::unique_ptr<session::Session> another() const;

  serve::OpenOptions options_;
  std::unique_ptr<serve::Workspace> workspace_;
};

// Errors: usage.
session::Selection selection_of(const Part& part);

}  // namespace hodo::python
