// Who gets what: the one place that decides about a request.
#pragma once

#include <string>
#include <string_view>

#include "hodo/web/host.h"
#include "request.h"

namespace hodo::web {

struct Response {
  int status = 404;
  std::string_view type = "text/plain; charset=utf-8";
  std::string body;
  bool known = false;  // it came with the key
};

struct Site {
  Page page;
  Answer answer;
  std::string key;
  std::uint16_t port = 0;
};

// What can be said before the body has come; status 0: the body is wanted.
Response admit(const Site& site, const Request& request);
// The answer to a question that was admitted; `gone` as Answer's.
Response reply(const Site& site, std::string_view body, const std::function<bool()>& gone);
Response refusal(int status);

// The whole head of the response.
std::string head_of(const Response& response, bool keep);

}  // namespace hodo::web
