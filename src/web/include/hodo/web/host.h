// Serves one page and its questions to this user's browser, on 127.0.0.1.
//
// Whoever can connect there, also other users and pages from elsewhere in the same browser, gets
// nothing without the key in the address: 128 random bits, made anew for each run. Beside that Host
// must be this address (a foreign name that was made to lead here is turned away), Origin and
// Sec-Fetch-Site, where a browser sends them, must be this page's own, and questions must carry the
// key once more in a header, which no foreign page may send. There is nothing to be had but the
// page's own three files and the answers to questions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hodo/base/result.h"
#include "hodo/web/page.h"

namespace hodo::web {

// Answers one message; nullopt where no answer is due. Called from several threads at once. `gone`
// says whether who asked has hung up, at any time until it returns.
using Answer = std::function<std::optional<std::string>(std::string_view message,
                                                        const std::function<bool()>& gone)>;

inline constexpr std::size_t kLongestHead = 16 << 10;
inline constexpr std::size_t kLongestBody = 1 << 20;
// With the next one, the oldest that has not shown the key is ended; where all have, the next one.
inline constexpr unsigned kMostConnections = 48;

class Host {
 public:
  // Begins to serve; port 0: any free one. Errors: io, with the port and the cause.
  static Result<std::unique_ptr<Host>> start(const Page& page, Answer answer,
                                             std::uint16_t port = 0);
  virtual ~Host() = default;  // ends all connections, after the answers that are being made
  virtual std::string address() const = 0;  // "http://127.0.0.1:4242/KEY/"
};

// 128 random bits in hex. Errors: io.
Result<std::string> new_key();

}  // namespace hodo::web
