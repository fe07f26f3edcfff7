#include "recorder_facts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hodo/perfdata/guest_path.h"

namespace hodo::session {

RecorderFacts recorder_facts(const perfdata::FileFacts& facts) {
  constexpr std::size_t kMostBytes = 1 << 20;
  const auto section = facts.sections.find(static_cast<std::uint8_t>(perfdata::Feature::hodoscope));
  if (section == facts.sections.end() || section->second.size() > kMostBytes) return {};
  const auto json = nlohmann::json::parse(section->second, nullptr, false);
  if (!json.is_object()) return {};
  RecorderFacts out;
  if (json.contains("source") && json["source"].is_string()) out.source = json["source"];
  if (!json.contains("unrecorded")) return out;
  for (const auto& line : json["unrecorded"]) {
    if (line.is_string()) out.unrecorded.push_back(line);
  }
  return out;
}

bool of_guest(const perfdata::Session& recording) {
  const std::string source = recorder_facts(recording.facts()).source;
  if (source == "qemu-system" || source == "kvm") return true;
  return std::ranges::any_of(recording.files(), [](const perfdata::File& file) {
    return file.path.starts_with(perfdata::kOfGuest);
  });
}

}  // namespace hodo::session
