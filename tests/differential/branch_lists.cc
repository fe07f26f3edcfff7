// Reads `hodo branches --format csv` from its input and writes lists of branches (thread_lists.h)
// to its output. Exit status 0: done; 1: the input is not such a list, and which line is not.
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "thread_lists.h"

namespace {

constexpr std::string_view kHeader = "time,cpu,pid,tid,cr3,from,to,kind,flags";
constexpr std::size_t kColumns = 9;
enum Column { kThread = 3, kFrom = 5, kTo = 6, kKind = 7, kFlags = 8 };

using Fields = std::array<std::string_view, kColumns>;

// The last column has what is left, with its commas.
std::optional<Fields> fields_of(std::string_view line) {
  Fields out;
  for (std::size_t column = 0; column + 1 < kColumns; ++column) {
    const std::size_t comma = line.find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    out[column] = line.substr(0, comma);
    line.remove_prefix(comma + 1);
  }
  out.back() = line;
  return out;
}

template <typename Number>
std::optional<Number> number(std::string_view text, int base) {
  Number out{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

// Nothing is 0.
std::optional<std::uint64_t> address(std::string_view text) {
  if (text.empty()) return 0;
  if (!text.starts_with("0x")) return std::nullopt;
  return number<std::uint64_t>(text.substr(2), 16);
}

bool add(std::string_view line, lists::ThreadLists& to) {
  const auto fields = fields_of(line);
  if (!fields) return false;
  const auto thread = number<std::int64_t>((*fields)[kThread], 10);
  const auto from = address((*fields)[kFrom]);
  const auto target = address((*fields)[kTo]);
  if (!thread || !from || !target) return false;
  // Where the first branch of a stack came from.
  const bool picked_up = (*fields)[kKind] == "begin" && (*fields)[kFlags].contains("resync");
  const std::string_view kind = picked_up ? "picked-up" : (*fields)[kKind];
  const std::uint64_t known = lists::kind_number(kind);
  if (lists::kKinds[known] != kind) return false;
  to.add(*thread, {known, *from, *target});
  return true;
}

}  // namespace

int main() {
  lists::ThreadLists found;
  char* line = nullptr;
  std::size_t room = 0;
  bool header = true;
  for (ssize_t length; (length = getline(&line, &room, stdin)) > 0; header = false) {
    std::string_view text(line, static_cast<std::size_t>(length));
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (header ? text == kHeader : add(text, found)) continue;
    std::fprintf(stderr, "not of a list of branches: '%.*s'\n", static_cast<int>(text.size()),
                 text.data());
    return 1;
  }
  std::free(line);
  if (header) {
    std::fputs("no list of branches\n", stderr);
    return 1;
  }
  return found.write(stdout) ? 0 : 1;
}
