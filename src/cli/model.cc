#include "model.h"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace hodo::cli {
namespace {

OptionModel option_model(const CLI::Option& option) {
  OptionModel out;
  out.argument = option.get_positional();
  if (!out.argument) {
    for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  }
  bool flag = !out.argument && option.get_items_expected_max() == 0;
  if (!flag) out.type = option.get_type_name();
  out.value = out.argument ? option.get_name(true) : out.type;
  out.text = option.get_description();
  out.required = option.get_required();
  out.repeats = option.get_items_expected_max() > 1;
  return out;
}

}  // namespace

std::vector<std::string> OptionModel::choices() const {
  std::vector<std::string> words;
  if (type.find('|') == std::string::npos) return words;
  for (std::size_t at = 0; at <= type.size();) {
    std::size_t end = std::min(type.find('|', at), type.size());
    words.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string CommandModel::usage() const {
  std::string out = name + (commands.empty() ? " [OPTIONS]" : " COMMAND [OPTIONS]");
  for (const OptionModel& option : options) {
    if (!option.argument) continue;
    std::string value = option.value + (option.repeats ? "..." : "");
    out += option.required ? " " + value : " [" + value + "]";
  }
  if (runs_program) out += " -- COMMAND [ARG]...";
  return out;
}

std::vector<std::string> CommandModel::paragraphs() const {
  std::vector<std::string> out;
  std::string_view rest = manual.description;
  while (!rest.empty()) {
    std::size_t end = std::min(rest.find("\n\n"), rest.size());
    out.emplace_back(rest.substr(0, end));
    std::ranges::replace(out.back(), '\n', ' ');
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return out;
}

std::string CommandModel::words() const {
  std::size_t blank = name.find(' ');
  return blank == std::string::npos ? name : name.substr(blank + 1);
}

std::string CommandModel::word() const {
  std::string out = words();
  std::ranges::replace(out, ' ', '-');
  return out;
}

CommandModel model_of(const Program& program, const CLI::App& app) {
  CommandModel out;
  bool whole = &app == &program.app();
  out.name = whole ? "hodo" : "hodo " + Program::spoken(app.get_name());
  out.manual = program.manual(app);
  out.runs_program = app.get_prefix_command();
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) out.options.push_back(option_model(*option));
  }
  // Commands do not nest, so this does not go deeper than one level.
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) out.commands.push_back(model_of(program, *command));
  }
  return out;
}

}  // namespace hodo::cli
