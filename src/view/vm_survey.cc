#include "hodo/view/vm_survey.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hodo/view/table.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

using Json = nlohmann::ordered_json;

std::string busy(const guest::Survey& survey, std::uint64_t cr3) {
  const guest::Activity* activity = cr3 == 0 ? nullptr : survey.activity_of(cr3);
  const std::uint64_t looks = activity == nullptr ? 0 : activity->user + activity->kernel;
  return looks == 0 ? "" : percent(looks, survey.looks);
}

std::string name_of(const guest::Resident& resident) {
  const std::string name = printable(resident.process.leader.comm);
  return resident.cr3 == 0 ? "[" + name + "]" : name;
}

std::string residents_text(const guest::Survey& survey, const Style& style) {
  Table table({{"PID", Align::right},
               {"PPID", Align::right},
               {"THREADS", Align::right},
               {"CR3", Align::right},
               {"BUSY", Align::right},
               {"NAME", Align::left, Tone::name},
               {"EXECUTABLE", Align::left, Tone::plain, true},
               {"", Align::left, Tone::bad}});
  for (const guest::Resident& resident : survey.census->residents) {
    const guest::Task& leader = resident.process.leader;
    table.add({fmt::format("{}", leader.tgid), fmt::format("{}", leader.parent),
               fmt::format("{}", resident.process.threads.size()),
               resident.cr3 == 0 ? "-" : hex(resident.cr3), busy(survey, resident.cr3),
               name_of(resident), printable(resident.executable),
               resident.hidden ? "HIDDEN: not in the guest's task list" : ""});
  }
  return table.render(style);
}

std::string code_text(const std::vector<guest::CodeRange>& code) {
  std::uint64_t bytes = 0;
  for (const auto& range : code) bytes += range.end - range.start;
  if (code.empty()) return "none found";
  return fmt::format("{} in {}, from {}", byte_size(bytes),
                     code.size() == 1 ? "1 range" : fmt::format("{} ranges", code.size()),
                     hex(code.front().start));
}

std::string spaces_text(const guest::Survey& survey, const Style& style) {
  Table table({{"CR3", Align::right},
               {"USER", Align::right},
               {"KERNEL", Align::right},
               {"LAST IP", Align::right},
               {"USER CODE", Align::left, Tone::plain, true}});
  for (const guest::UnknownSpace& space : survey.spaces) {
    const guest::Activity activity =
        survey.activity_of(space.cr3) ? *survey.activity_of(space.cr3) : guest::Activity{};
    table.add({hex(space.cr3), percent(activity.user, survey.looks),
               percent(activity.kernel, survey.looks), hex(activity.last_ip),
               code_text(space.code)});
  }
  return table.render(style);
}

Json residents_json(const guest::Survey& survey) {
  Json out = Json::array();
  for (const guest::Resident& resident : survey.census->residents) {
    const guest::Task& leader = resident.process.leader;
    const guest::Activity* activity =
        resident.cr3 == 0 ? nullptr : survey.activity_of(resident.cr3);
    Json threads = Json::array();
    for (const guest::Task& thread : resident.process.threads) {
      threads.push_back({{"tid", thread.pid}, {"name", printable(thread.comm)}});
    }
    Json line{{"pid", leader.tgid},
              {"ppid", leader.parent},
              {"name", printable(leader.comm)},
              {"executable", printable(resident.executable)},
              {"cr3", resident.cr3 == 0 ? Json() : Json(hex(resident.cr3))},
              {"hidden", resident.hidden},
              {"user_looks", activity == nullptr ? 0 : activity->user},
              {"kernel_looks", activity == nullptr ? 0 : activity->kernel},
              {"threads", std::move(threads)}};
    out.push_back(std::move(line));
  }
  return out;
}

Json space_json(const guest::Survey& survey, std::uint64_t cr3) {
  const guest::Activity* activity = survey.activity_of(cr3);
  Json out{{"cr3", hex(cr3)},
           {"user_looks", activity == nullptr ? 0 : activity->user},
           {"kernel_looks", activity == nullptr ? 0 : activity->kernel}};
  if (activity != nullptr) out["ip"] = hex(activity->last_ip);
  return out;
}

}  // namespace

std::string survey_text(const guest::Survey& survey, const Style& style) {
  std::string out =
      fmt::format("{} {}\n", style.paint(Tone::title, "guest:"), printable(survey.system));
  if (!survey.census) {
    out +=
        "Its processes cannot be asked for; these are the address spaces that were seen running,\n"
        "with the share of looks at the processors that found them in user and in kernel mode.\n";
    return out + spaces_text(survey, style);
  }
  const auto& residents = survey.census->residents;
  const auto hidden = std::ranges::count(residents, true, &guest::Resident::hidden);
  out += fmt::format("kernel at {}, {} processors, page-table isolation {}\n\n",
                     hex(survey.kernel_base), survey.processors, survey.isolated ? "on" : "off");
  out += residents_text(survey, style);
  if (!survey.census->cross_checked) {
    out +=
        "\nThis kernel does not say whose an address space is: hidden processes were not looked "
        "for.\n";
  } else if (hidden != 0) {
    out +=
        style.paint(Tone::bad, fmt::format("\n{} of {} processes {} hidden from the guest.\n",
                                           hidden, residents.size(), hidden == 1 ? "is" : "are"));
  }
  return out;
}

Json survey_json(const guest::Survey& survey) {
  Json out{{"system", printable(survey.system)},
           {"processors", survey.processors},
           {"looks", survey.looks}};
  Json spaces = Json::array();
  if (survey.census) {
    out["kernel_base"] = hex(survey.kernel_base);
    out["isolated"] = survey.isolated;
    out["cross_checked"] = survey.census->cross_checked;
    out["processes"] = residents_json(survey);
    for (const std::uint64_t cr3 : survey.census->others) spaces.push_back(space_json(survey, cr3));
  }
  for (const guest::UnknownSpace& space : survey.spaces) {
    Json line = space_json(survey, space.cr3);
    line["code"] = Json::array();
    for (const guest::CodeRange& range : space.code) {
      line["code"].push_back({{"start", hex(range.start)}, {"end", hex(range.end)}});
    }
    spaces.push_back(std::move(line));
  }
  out["address_spaces"] = std::move(spaces);
  return out;
}

}  // namespace hodo::view
