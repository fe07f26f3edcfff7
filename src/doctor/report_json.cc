#include <nlohmann/json.hpp>

#include "hodo/doctor/report.h"

namespace hodo::doctor {
namespace {

using Json = nlohmann::ordered_json;

Json available(Verdict verdict) {
  if (verdict == Verdict::unknown) return nullptr;
  return verdict == Verdict::yes;
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

nlohmann::ordered_json report_json(const Report& report) {
  Json means = Json::object();
  for (const Item& item : report.items) {
    Json details = Json::object();
    for (const auto& [name, value] : item.details) details[name] = value;
    means[item.key] = {{"available", available(item.verdict)},
                       {"why", text_or_null(item.why)},
                       {"remedy", text_or_null(item.remedy)},
                       {"details", std::move(details)}};
  }
  return {{"processor", report.processor},
          {"hypervisor", report.hypervisor},
          {"kernel", text_or_null(report.kernel)},
          {"source", text_or_null(report.source)},
          {"means", std::move(means)}};
}

}  // namespace hodo::doctor
