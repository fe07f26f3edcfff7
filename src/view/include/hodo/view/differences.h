// What `hodo diff` prints.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hodo/ask/compare.h"
#include "hodo/ask/scene.h"
#include "hodo/ask/spectrum.h"
#include "hodo/view/style.h"

namespace hodo::view {

// Two paths that were compared.
struct ComparedPaths {
  ask::Side a, b;
  std::string a_name, b_name;  // for a person
  ask::Comparison comparison;
  // Of the first parting, on both sides.
  std::optional<ask::Scene> a_scene, b_scene;
};

struct DiffView {
  std::vector<ComparedPaths> paths;
  std::vector<std::string> unpaired;  // threads that have no counterpart
  std::vector<std::string> notes;     // what the comparison rests on
  std::vector<ask::Difference> differences;
  bool complete = true;  // nothing was lost, and all that ran could be compared
  std::size_t top = 20;
};
bool differs(const DiffView& diff);

std::string diff_text(const DiffView& diff, const Style& style);
nlohmann::ordered_json diff_json(const DiffView& diff);
// One page for a browser, as html.h has them.
std::string diff_html(const DiffView& diff);

std::string suspects_text(std::span<const ask::Suspect> suspects, std::size_t failing,
                          std::size_t passing, std::size_t top, const Style& style);
nlohmann::ordered_json suspects_json(std::span<const ask::Suspect> suspects, std::size_t top);
std::string suspects_html(std::span<const ask::Suspect> suspects, std::size_t failing,
                          std::size_t passing, std::size_t top);

}  // namespace hodo::view
