#include "hodo/guest/watch.h"

#include <algorithm>
#include <charconv>

namespace hodo::guest {
namespace {

constexpr std::size_t kLongestName = 15;  // TASK_COMM_LEN without its NUL
constexpr std::string_view kProcess = "process=", kPid = "pid=", kCr3 = "cr3=", kAll = "all";
constexpr std::string_view kChildren = "children";

template <class T>
bool parse(std::string_view text, int base, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

template <class T>
bool has(const std::vector<T>& list, const T& value) {
  return std::ranges::find(list, value) != list.end();
}

std::string hex(std::uint64_t value) {
  char text[16];
  return {text, std::to_chars(std::begin(text), std::end(text), value, 16).ptr};
}

}  // namespace

bool WatchList::wants(std::int32_t pid, std::string_view name, std::uint64_t cr3) const {
  const auto same = [&](const std::string& n) { return name == n.substr(0, kLongestName); };
  return everyone || std::ranges::any_of(names, same) || has(pids, pid) || has(cr3s, cr3);
}

std::vector<std::string> watch_words(const WatchList& list) {
  std::vector<std::string> words;
  words.reserve(2 + list.names.size() + list.pids.size() + list.cr3s.size());
  if (list.children) words.emplace_back(kChildren);
  if (list.everyone) words.push_back(std::string(kProcess).append(kAll));
  for (const auto& name : list.names) words.push_back(std::string(kProcess).append(name));
  for (const auto pid : list.pids) words.push_back(std::string(kPid) + std::to_string(pid));
  for (const auto cr3 : list.cr3s) words.push_back(std::string(kCr3) + hex(cr3));
  return words;
}

bool parse_watch(std::string_view word, WatchList& list) {
  if (word == kChildren) return list.children = true;
  if (word.starts_with(kProcess)) {
    const auto name = word.substr(kProcess.size());
    if (name.empty()) return false;
    if (name == kAll) {
      list.everyone = true;
    } else {
      list.names.emplace_back(name);
    }
    return true;
  }
  if (word.starts_with(kPid)) {
    std::int32_t pid = 0;
    if (!parse(word.substr(kPid.size()), 10, pid) || pid <= 0) return false;
    list.pids.push_back(pid);
    return true;
  }
  std::uint64_t cr3 = 0;
  if (!word.starts_with(kCr3)) return false;
  word.remove_prefix(kCr3.size());
  if (word.starts_with("0x")) word.remove_prefix(2);
  if (!parse(word, 16, cr3) || cr3 == 0) return false;
  list.cr3s.push_back(cr3);
  return true;
}

}  // namespace hodo::guest
