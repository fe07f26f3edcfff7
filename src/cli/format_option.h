// An option that takes the name of a format: some of the command's own, then those of export's
// table.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hodo/export/formats.h"
#include "option_set.h"

namespace hodo::cli {

// `value` must outlive the Program's run and holds the default.
template <class... Formats>
Option add_format(const OptionSet& options, const std::string& names, std::string& value,
                  std::initializer_list<std::string> own, const std::string& text,
                  std::span<const Formats>... exported) {
  std::vector<std::pair<std::string, std::string>> choices;
  for (const std::string& name : own) choices.emplace_back(name, name);
  const auto add = [&choices](const auto& formats) {
    for (const auto& format : formats) choices.emplace_back(format.name, format.name);
  };
  (add(exported), ...);
  return add_choice<std::string>(options, names, value, choices, text);
}

}  // namespace hodo::cli
