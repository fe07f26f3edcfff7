#include "wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace hodo::serve {
namespace {

struct Counterpart {
  std::string_view command;
  std::string_view method;
  std::string_view tool;
  std::string_view parameter;  // its argument
};

constexpr std::array kCounterparts{Counterpart{"annotate", "code", "code", "function"},
                                   Counterpart{"coverage", "coverage", "search", ""},
                                   Counterpart{"crash", "ends", "ends", ""},
                                   Counterpart{"list", "calls", "calls", "function"},
                                   Counterpart{"report", "report", "report", ""},
                                   Counterpart{"show", "scene", "show", "at"},
                                   Counterpart{"stats", "stats", "recording", ""}};

// What stands for "list parse" or "coverage --top 0"; empty: nothing does.
std::string counterpart(Asks asks, std::string_view command) {
  const std::string_view name = command.substr(0, command.find(' '));
  const auto it = std::ranges::find(kCounterparts, name, &Counterpart::command);
  if (it == kCounterparts.end()) return "";
  std::string out = fmt::format("'{}'", asks == Asks::tools ? it->tool : it->method);
  const std::string_view argument = command.substr(std::min(name.size() + 1, command.size()));
  if (argument.empty() || argument.starts_with('-')) return out;
  return out + fmt::format(" with '{}' {}", it->parameter, argument);
}

// Whether what stands there belongs to a command that was left as it is, "hodo export --to FORMAT".
bool in_command(std::string_view message, std::size_t at) {
  const std::size_t command = message.rfind("hodo ", at);
  return command != message.npos &&
         message.substr(command, at - command).find_first_of("';,") == message.npos;
}

bool is_of_option(char c) { return (c >= 'a' && c <= 'z') || c == '-'; }

}  // namespace

std::string in_words_of(Asks asks, std::string message) {
  if (asks == Asks::commands) return message;
  constexpr std::string_view kHodo = "'hodo ";
  for (std::size_t at = 0; (at = message.find(kHodo, at)) != message.npos; ++at) {
    const std::size_t first = at + kHodo.size();
    const std::size_t end = message.find('\'', first);
    if (end == message.npos) break;
    const std::string said = counterpart(asks, message.substr(first, end - first));
    if (!said.empty()) message.replace(at, end + 1 - at, said);
  }
  constexpr std::string_view kInfo = "'info'";
  if (const std::size_t at = message.find(kInfo); at != message.npos && asks == Asks::tools) {
    message.replace(at, kInfo.size(), "'recording'");
  }
  for (std::size_t at = 0; (at = message.find("--", at)) != message.npos; ++at) {
    std::size_t end = at + 2;
    while (end < message.size() && is_of_option(message[end])) ++end;
    const bool begins = (at == 0 || message[at - 1] == ' ') && !in_command(message, at);
    if (begins && end > at + 2)
      message.replace(at, end - at, fmt::format("'{}'", message.substr(at + 2, end - at - 2)));
  }
  return message;
}

}  // namespace hodo::serve
