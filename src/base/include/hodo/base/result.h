// Errors as values. Nothing in hodoscope throws across a library's edge: what can fail returns
// Result<T>, and an Error says what went wrong, where in the input, and in words that a user can
// act on.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

namespace hodo {

// What the caller should do about it, not where it happened.
enum class ErrorCode : std::uint8_t {
  io,             // the operating system refused; the message has its reason
  truncated,      // the input ends before the thing it promised: end of data, not corruption
  malformed,      // the input breaks its own format at `offset`
  unsupported,    // well formed, but nothing that this build or machine can handle
  not_found,      // a file, symbol, process or mapping that was named does not exist
  not_permitted,  // the rights are missing; the message names the remedy
  no_space,       // a disk, a buffer or a given limit is full
  usage,          // the caller's options contradict each other
};

struct [[nodiscard]] Error {
  static constexpr std::uint64_t kNoOffset = ~std::uint64_t{0};

  ErrorCode code = ErrorCode::malformed;
  std::string message;               // one line, no trailing period or newline
  std::uint64_t offset = kNoOffset;  // byte offset in the input, where there is one
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

inline std::unexpected<Error> fail(ErrorCode code, std::string message,
                                   std::uint64_t offset = Error::kNoOffset) {
  return std::unexpected(Error{code, std::move(message), offset});
}

}  // namespace hodo
