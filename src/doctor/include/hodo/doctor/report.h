// What can be recorded, why not the rest, and what to do about it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "hodo/doctor/facts.h"
#include "hodo/view/style.h"

namespace hodo::doctor {

enum class Verdict : std::uint8_t { yes, no, unknown };

// One means of recording.
struct Item {
  std::string name;  // "Intel PT"
  std::string key;   // of JSON: "pt"
  Verdict verdict = Verdict::unknown;
  std::string why;     // a sentence without a full stop; empty if there is nothing to explain
  std::string remedy;  // what to do, a command where there is one; empty if nothing helps
  std::vector<std::pair<std::string, std::string>> details;  // "address ranges", "2"
};

struct Report {
  std::string processor;   // "Intel(R) Core(TM) ... (family 6, model 94, stepping 3)"
  std::string hypervisor;  // "none", "KVM"
  std::string kernel;      // "6.1.0-18-amd64, perf_event_paranoid 2"; "" for a dump
  std::vector<Item> items;
  std::string
      source;  // what `hodo record` uses here: "pt", "dbi", "qemu", "step"; "": nothing, or a dump
  std::vector<std::string> without_qemu;  // what --source can record with here but for QEMU
};

Report diagnose(const Facts& facts);

std::string report_text(const Report& report, const view::Style& style);
nlohmann::ordered_json report_json(const Report& report);

}  // namespace hodo::doctor
