#include "connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace hodo::web {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kRequestTime{10'000};  // for a whole request, from its first byte
constexpr milliseconds kStrangerTime{3'000};  // until the first request of who has shown no key
constexpr milliseconds kIdleTime{120'000};    // between requests of who has
constexpr milliseconds kSendTime{30'000};     // for a piece of an answer

bool wait_for(int socket, short event, milliseconds time) {
  pollfd one{.fd = socket, .events = event, .revents = 0};
  return poll(&one, 1, static_cast<int>(std::max(time, milliseconds(0)).count())) == 1;
}

// A browser that gives up a question closes the connection: HTTP/1.1 has no other way.
bool has_hung_up(int socket) {
  pollfd one{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return poll(&one, 1, 0) == 1;
}

// Appends what comes; false at the end of the connection, and at the deadline.
bool receive(int socket, std::string& into, Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
  if (left.count() <= 0 || !wait_for(socket, POLLIN, left)) return false;
  char buffer[16 << 10];
  const ssize_t size = recv(socket, buffer, sizeof(buffer), 0);
  if (size <= 0) return false;
  into.append(buffer, static_cast<std::size_t>(size));
  return true;
}

bool send_all(int socket, std::string_view data) {
  while (!data.empty()) {
    if (!wait_for(socket, POLLOUT, kSendTime)) return false;
    const ssize_t size = send(socket, data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (size <= 0) return false;
    data.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

bool send_response(int socket, const Response& response, bool keep) {
  return send_all(socket, head_of(response, keep)) && send_all(socket, response.body);
}

// The last that this connection hears.
bool refuse(int socket, const Response& response) {
  send_response(socket, response, false);
  return false;
}

// One request, of which `input` may hold the beginning; what follows it stays there. False: the
// connection is at its end.
bool serve_one(const Site& site, int socket, std::string& input, std::atomic<bool>& known) {
  constexpr std::string_view kBlankLine = "\r\n\r\n";
  const auto idle = known ? kIdleTime : kStrangerTime;
  if (input.empty() && !receive(socket, input, Clock::now() + idle)) return false;
  const auto deadline = Clock::now() + kRequestTime;
  std::size_t end = input.find(kBlankLine);
  while (end == input.npos) {
    if (input.size() > kLongestHead) return refuse(socket, refusal(431));
    if (!receive(socket, input, deadline)) return false;
    end = input.find(kBlankLine);
  }
  const std::size_t body = end + kBlankLine.size();
  if (body > kLongestHead) return refuse(socket, refusal(431));
  const std::string head = input.substr(0, body);
  const auto request = parse_request(head);
  if (!request) return refuse(socket, refusal(request.error()));
  Response response = admit(site, *request);
  // Who is refused is not read further.
  if (response.status != 0 && request->length > 0) {
    return refuse(socket, response);
  }
  while (input.size() - body < request->length) {
    if (!receive(socket, input, deadline)) return false;
  }
  if (response.status == 0) {
    known = true;
    response = reply(site, std::string_view(input).substr(body, request->length),
                     [socket] { return has_hung_up(socket); });
  }
  input.erase(0, body + request->length);
  known = response.known;
  const bool keep = request->keep && response.known;
  return send_response(socket, response, keep) && keep;
}

}  // namespace

void serve_connection(const Site& site, int socket, std::atomic<bool>& known) {
  std::string input;
  while (serve_one(site, socket, input, known)) {
  }
}

}  // namespace hodo::web
