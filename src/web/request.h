// The head of an HTTP request, as strictly as a page of our own allows.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

namespace hodo::web {

struct Request {
  std::string_view method, target;  // all views: into the head
  std::string_view host, origin, site, key, type;
  std::size_t length = 0;  // of the body
  bool has_length = false;
  bool keep = true;  // the connection stays open
};

// The head up to and with its blank line. The error is the HTTP status to answer with: 400 for what
// is not HTTP/1.1, also for a header that counts here and comes twice; 413 for a body that is too
// long; 501 for one whose length is not said in advance.
std::expected<Request, int> parse_request(std::string_view head);

}  // namespace hodo::web
