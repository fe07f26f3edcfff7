#include "gate.h"

#include <fmt/format.h>

#include <array>

namespace hodo::web {
namespace {

// Everything that the page has comes from here, and nothing of it is markup from elsewhere.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string_view phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Not Found";
  }
}

// Takes as long for a key that is nearly right as for one that is not.
bool equal_keys(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned differs = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differs |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return differs == 0;
}

bool is_ours(const Site& site, std::string_view host) {
  return host == fmt::format("127.0.0.1:{}", site.port) ||
         host == fmt::format("localhost:{}", site.port);
}

// Browsers say from where a page asks; programs say nothing.
bool from_ours(const Site& site, const Request& request) {
  constexpr std::string_view kScheme = "http://";
  if (!request.origin.empty() && (!request.origin.starts_with(kScheme) ||
                                  !is_ours(site, request.origin.substr(kScheme.size())))) {
    return false;
  }
  return request.site.empty() || request.site == "same-origin" || request.site == "none";
}

Response file(std::string_view type, std::string_view content) {
  return {.status = 200, .type = type, .body = std::string(content), .known = true};
}

Response page_file(const Site& site, std::string_view path) {
  if (path.empty()) return file("text/html; charset=utf-8", site.page.html);
  if (path == "page.js") return file("text/javascript; charset=utf-8", site.page.script);
  if (path == "page.css") return file("text/css; charset=utf-8", site.page.style);
  return refusal(404);
}

}  // namespace

Response refusal(int status) {
  return {.status = status, .body = fmt::format("{} {}\n", status, phrase(status))};
}

Response admit(const Site& site, const Request& request) {
  if (!is_ours(site, request.host)) return refusal(403);
  // "/KEY/REST"; without the key nothing exists.
  std::string_view path = request.target.substr(1);
  const std::size_t slash = path.find('/');
  if (slash == path.npos || !equal_keys(path.substr(0, slash), site.key)) return refusal(404);
  path.remove_prefix(slash + 1);
  // A link to the page may be followed from anywhere; all else only the page itself may have.
  const bool opens = path.empty() && request.method == "GET" && request.origin.empty();
  if (!opens && !from_ours(site, request)) return refusal(403);
  if (path != "rpc") return request.method == "GET" ? page_file(site, path) : refusal(405);
  if (request.method != "POST") return refusal(405);
  if (!equal_keys(request.key, site.key)) return refusal(403);
  if (!request.type.starts_with("application/json")) return refusal(415);
  if (!request.has_length) return refusal(400);
  return {.status = 0, .body = {}, .known = true};
}

Response reply(const Site& site, std::string_view body, const std::function<bool()>& gone) {
  auto answer = site.answer(body, gone);
  if (!answer) return {.status = 204, .body = {}, .known = true};
  return {.status = 200, .type = "application/json", .body = std::move(*answer), .known = true};
}

std::string head_of(const Response& response, bool keep) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: {}\r\n"
      "Cache-Control: no-store\r\nContent-Security-Policy: {}\r\n"
      "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
      "Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n\r\n",
      response.status, phrase(response.status), response.type, response.body.size(),
      keep ? "keep-alive" : "close", kPolicy);
}

}  // namespace hodo::web
