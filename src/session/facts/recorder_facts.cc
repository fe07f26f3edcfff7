#include "recorder_facts.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "hodo/perfdata/guest_path.h"

namespace hodo::session {
namespace {

using Json = nlohmann::json;

std::string text(const Json& object, const char* member) {
  const auto found = object.find(member);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t number(const Json& object, const char* member, std::int64_t otherwise = 0) {
  const auto found = object.find(member);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>()
                                                             : otherwise;
}

// "0x401136"
std::optional<std::uint64_t> address(const Json& object, const char* member) {
  const std::string word = text(object, member);
  std::uint64_t value = 0;
  if (!word.starts_with("0x")) return std::nullopt;
  const auto read = std::from_chars(word.data() + 2, word.data() + word.size(), value, 16);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

OverwrittenChannel overwritten(const Json& one) {
  return {.pid = static_cast<std::int32_t>(number(one, "pid", -1)),
          .tid = static_cast<std::int32_t>(number(one, "tid", -1)),
          .offset = static_cast<std::uint64_t>(number(one, "offset")),
          .time = static_cast<std::uint64_t>(number(one, "time")),
          .what = text(one, "what")};
}

std::optional<Fault> fault_in(const Json& one) {
  using Access = Fault::Access;
  const auto fault = one.find("fault");
  if (fault == one.end() || !fault->is_object()) return std::nullopt;
  const auto where = address(*fault, "address");
  const std::string word = text(*fault, "access");
  if (!where || (word != "read" && word != "write" && word != "execute")) return std::nullopt;
  return Fault{.access = word == "read"    ? Access::read
                         : word == "write" ? Access::write
                                           : Access::execute,
               .address = *where,
               .mapped = fault->contains("mapped") && (*fault)["mapped"] == true};
}

ProcessEnd process_end(const Json& one) {
  return {.pid = static_cast<std::int32_t>(number(one, "pid")),
          .comm = text(one, "comm"),
          .command = one.contains("command") && one["command"] == true,
          .time = static_cast<std::uint64_t>(number(one, "time")),
          .exit_status = static_cast<int>(number(one, "exit_status", -1)),
          .signal = static_cast<int>(number(one, "signal")),
          .tid = static_cast<std::int32_t>(number(one, "tid")),
          .ip = address(one, "ip"),
          .fault = fault_in(one)};
}

// The objects of the array `member`.
template <class Take>
void each(const Json& summary, const char* member, Take take) {
  const auto array = summary.find(member);
  if (array == summary.end() || !array->is_array()) return;
  for (const Json& one : *array) {
    if (one.is_object()) take(one);
  }
}

}  // namespace

RecorderFacts recorder_facts(const perfdata::FileFacts& facts) {
  constexpr std::size_t kMostBytes = 4 << 20;
  const auto section = facts.sections.find(static_cast<std::uint8_t>(perfdata::Feature::hodoscope));
  if (section == facts.sections.end()) return {};
  if (section->second.size() > kMostBytes) return {.readable = false};
  const auto json = Json::parse(section->second, nullptr, false);
  if (!json.is_object()) return {.readable = false};
  RecorderFacts out;
  out.source = text(json, "source");
  out.snapshot = json.contains("snapshot") && json["snapshot"] == true;
  each(json, "overwritten", [&](const Json& one) { out.overwritten.push_back(overwritten(one)); });
  each(json, "ended", [&](const Json& one) { out.ends.push_back(process_end(one)); });
  each(json, "ended_threads",
       [&](const Json& one) { out.thread_ends.push_back(process_end(one)); });
  if (!json.contains("unrecorded")) return out;
  for (const auto& line : json["unrecorded"]) {
    if (line.is_string()) out.unrecorded.push_back(line);
  }
  return out;
}

bool of_guest(const perfdata::Model& recording) {
  const std::string source = recorder_facts(recording.facts()).source;
  if (source == "qemu-system" || source == "kvm") return true;
  return std::ranges::any_of(recording.files(), [](const perfdata::File& file) {
    return file.path.starts_with(perfdata::kOfGuest);
  });
}

}  // namespace hodo::session
