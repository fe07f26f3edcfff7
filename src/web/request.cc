#include "request.h"

#include <algorithm>
#include <charconv>

#include "hodo/web/host.h"

namespace hodo::web {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

// The next line without its end; a line that does not end with CR LF is none.
bool next_line(std::string_view& rest, std::string_view& line) {
  const std::size_t end = rest.find("\r\n");
  if (end == rest.npos) return false;
  line = rest.substr(0, end);
  rest.remove_prefix(end + 2);
  return line.find_first_of(std::string_view("\r\n\0", 3)) == line.npos;
}

bool token_sign(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// "GET /path HTTP/1.1"
bool take_request_line(std::string_view line, Request& request) {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == line.npos ? first : line.find(' ', first + 1);
  if (second == line.npos || line.substr(second + 1) != "HTTP/1.1") return false;
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, second - first - 1);
  return !request.method.empty() && request.target.starts_with('/');
}

// 0, or the status to answer with.
int take_length(std::string_view value, Request& request) {
  const auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), request.length);
  const bool number = error == std::errc() && end == value.data() + value.size();
  if (request.has_length || (!number && error != std::errc::result_out_of_range)) return 400;
  request.has_length = true;
  return !number || request.length > kLongestBody ? 413 : 0;
}

int take_header(std::string_view line, Request& request) {
  const std::size_t colon = line.find(':');
  if (colon == 0 || colon == line.npos) return 400;
  const std::string_view name = line.substr(0, colon);
  if (!std::ranges::all_of(name, token_sign)) return 400;
  const std::string_view value = without_blanks(line.substr(colon + 1));
  if (same(name, "content-length")) return take_length(value, request);
  if (same(name, "transfer-encoding")) return 501;
  if (same(name, "connection") && same(value, "close")) request.keep = false;
  struct Kept {
    std::string_view name;
    std::string_view Request::* member;
  };
  static constexpr Kept kKept[] = {{"host", &Request::host},
                                   {"origin", &Request::origin},
                                   {"sec-fetch-site", &Request::site},
                                   {"content-type", &Request::type},
                                   {"x-hodo-token", &Request::key}};
  for (const Kept& kept : kKept) {
    if (!same(name, kept.name)) continue;
    if (request.*kept.member != std::string_view()) return 400;
    request.*kept.member = value;
  }
  return 0;
}

}  // namespace

std::expected<Request, int> parse_request(std::string_view head) {
  Request request;
  std::string_view line;
  if (!next_line(head, line) || !take_request_line(line, request)) return std::unexpected(400);
  while (next_line(head, line)) {
    if (line.empty()) return request;
    if (const int status = take_header(line, request); status != 0) return std::unexpected(status);
  }
  return std::unexpected(400);
}

}  // namespace hodo::web
