// Rows of calls as bytes: those of one decoding, by function, so that whoever asks for one function
// reads no others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "hodo/analyze/open_calls.h"
#include "hodo/ask/calls.h"
#include "hodo/base/numbers.h"

namespace hodo::ask {

// Among the calls that are kept of a decoding.
struct KeptRow {
  CallRow row;              // but for `number`
  std::uint64_t begun = 0;  // which of them it was to begin, from 1,
  std::uint64_t ended = 0;  // and to end
};

// A function of the decoding. Functions are numbered as CallList has them.
struct KeptFunction {
  analyze::Function function;
  bool called = false;              // there are calls of it,
  std::optional<std::size_t> rows;  // which are here, so many
};

class CallRowsWriter {
 public:
  // In the order of their ends.
  void add(const KeptRow& kept);
  // Rows of the function that have been added.
  std::size_t rows_of(std::uint32_t function) const;
  std::size_t bytes_of(std::uint32_t function) const;
  // `functions[i].rows` says whether those of function i are to be in it.
  std::vector<std::uint8_t> take(std::span<const KeptFunction> functions);

 private:
  struct Stream {
    NumberWriter out;
    KeptRow before;
    std::size_t rows = 0;
  };
  // What rows have in common.
  struct Who {
    ThreadId thread;
    std::int32_t pid = -1;
    std::uint32_t space = 0;
    auto operator<=>(const Who&) const = default;
  };
  std::uint32_t number_of(const Who& who);

  std::vector<Stream> streams_;  // by function
  std::map<Who, std::uint32_t> numbers_;
  std::vector<Who> who_;
};

// Of what take() made, or of what somebody else made up.
class CallRowsReader {
 public:
  // nullopt: it makes no sense. The bytes must outlive it.
  static std::optional<CallRowsReader> open(std::span<const std::uint8_t> bytes);
  std::span<const KeptFunction> functions() const { return functions_; }
  // Adds the rows of a function that has some. False: they make no sense.
  bool read(std::uint32_t function, std::vector<KeptRow>& out) const;

 private:
  struct Who {
    ThreadId thread;
    std::int32_t pid = -1;
    std::uint32_t space = 0;
  };
  bool read_row(NumberReader& in, KeptRow& kept) const;

  std::vector<KeptFunction> functions_;
  std::vector<std::span<const std::uint8_t>> streams_;  // by function
  std::vector<Who> who_;
};

}  // namespace hodo::ask
