// Rows of calls in a file of a CallStore: by function, so that whoever asks for one function reads
// no others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hodo/analyze/open_calls.h"
#include "hodo/ask/call_store.h"
#include "hodo/ask/calls.h"
#include "hodo/base/numbers.h"

namespace hodo::ask {

// A function of a decoding. Functions are numbered as CallList has them.
struct KeptFunction {
  analyze::Function function;
  bool called = false;              // there are calls of it,
  std::optional<std::size_t> rows;  // which are here, so many
};

// Rows lie in chunks of a function, which make sense by themselves, and chunks in parts of the
// file: small ones share a part.
struct RowChunk {
  std::uint32_t part = 0;
  std::uint32_t offset = 0;  // in the part
  std::uint32_t size = 0;
};

// The first number of a head: another one where rows are made, or read, in another way.
inline constexpr std::uint64_t kRowsVersion = 7;

class CallRowsWriter {
 public:
  // `file` may be null: nothing is kept.
  explicit CallRowsWriter(std::unique_ptr<CallStore::Writer> file) : file_(std::move(file)) {}

  // Of a row's function in the order of the calls' ends. `visit`: queues in the order in which
  // their paths are walked along; the one in which the call began. How many of the function there
  // are now.
  std::size_t add(const CallRow& row, std::uint32_t visit);
  // Rows of the function that have been added.
  std::size_t rows_of(std::uint32_t function) const;
  // They are not wanted.
  void drop(std::uint32_t function);
  std::uint64_t bytes() const { return file_ ? file_->bytes() : 0; }
  // `functions[i].rows` says whether those of function i are to be in it; files that were written
  // later have larger numbers.
  void finish(std::span<const KeptFunction> functions, std::uint64_t number);

 private:
  struct Stream {
    std::vector<std::uint8_t> out;
    CallRow before;
    std::size_t rows = 0;
    std::vector<RowChunk> chunks;
  };
  // What rows have in common.
  struct Who {
    ThreadId thread;
    std::int32_t pid = -1;
    std::uint32_t space = 0;
    std::uint32_t visit = 0;
    auto operator<=>(const Who&) const = default;
  };
  std::uint32_t number_of(const Who& who);
  void write_chunk(Stream& stream);
  void end_part();
  std::vector<std::uint8_t> head_of(std::span<const KeptFunction> functions, std::uint64_t number);

  std::unique_ptr<CallStore::Writer> file_;
  std::vector<Stream> streams_;  // by function
  std::map<Who, std::uint32_t> numbers_;
  std::vector<Who> who_;
  Who last_;
  std::uint32_t last_number_ = ~std::uint32_t{0};
  std::vector<CallStore::Part> parts_;
  std::vector<std::uint8_t> part_;  // that chunks go to
};

// What a row says, and its call's place in the order of walk(): these, and the order of ends.
struct KeptRow {
  CallRow row;  // but for `number`
  std::uint32_t visit = 0;
};

// Of what finish() made, or of what somebody else made up.
class CallRowsReader {
 public:
  // nullopt: there is nothing, or it makes no sense.
  static std::optional<CallRowsReader> open(std::unique_ptr<const CallStore::File> file);
  std::span<const KeptFunction> functions() const { return functions_; }
  std::uint64_t number() const { return number_; }
  std::uint64_t bytes() const { return file_->bytes(); }
  // Adds the rows of a function that has some, in the order of their ends. False: they make no
  // sense.
  bool read(std::uint32_t function, std::vector<KeptRow>& out) const;

 private:
  struct Who {
    ThreadId thread;
    std::int32_t pid = -1;
    std::uint32_t space = 0;
    std::uint32_t visit = 0;
  };
  bool read_head();
  bool read_row(NumberReader& in, KeptRow& kept) const;

  std::unique_ptr<const CallStore::File> file_;
  std::uint64_t number_ = 0;
  std::vector<KeptFunction> functions_;
  std::vector<std::vector<RowChunk>> chunks_;  // by function
  std::vector<CallStore::Part> parts_;
  std::vector<Who> who_;
};

}  // namespace hodo::ask
