#include "man.h"

#include <fmt/format.h>

#include <algorithm>

namespace hodo::cli {
namespace {

// Text for roff: backslashes and hyphens escaped, no line that starts like a request.
std::string roff(std::string_view text) {
  std::string out;
  for (char c : text) {
    bool starts = out.empty() || out.back() == '\n';
    if (starts && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string dashed(std::string_view name) {
  std::string out(name);
  std::ranges::replace(out, ' ', '-');
  return out;
}

std::string bold_names(const OptionModel& option) {
  std::string out;
  for (const std::string& name : option.names) {
    out += fmt::format("{}\\fB{}\\fR", out.empty() ? "" : ", ", roff(name));
  }
  if (option.argument) return fmt::format("\\fI{}\\fR", roff(option.value));
  return option.value.empty() ? out : fmt::format("{} \\fI{}\\fR", out, roff(option.value));
}

void append_options(std::string& out, const CommandModel& command) {
  out += ".SH OPTIONS\n";
  for (bool arguments : {true, false}) {
    for (const OptionModel& option : command.options) {
      if (option.argument != arguments) continue;
      out += fmt::format(".TP\n{}\n{}\n", bold_names(option), roff(option.text));
    }
  }
}

void append_see_also(std::string& out, const CommandModel& command) {
  out += ".SH SEE ALSO\n";
  if (command.commands.empty()) out += ".BR hodo (1),\n";
  for (const CommandModel& sub : command.commands) {
    out += fmt::format(".BR {} (1),\n", roff(dashed(sub.name)));
  }
  out += ".BR perf (1)\n";
}

}  // namespace

std::string man_page(const CommandModel& command, std::string_view version) {
  std::string title = dashed(command.name);
  std::string upper = title;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string out =
      fmt::format(".TH {} 1 \"\" \"hodoscope {}\" \"hodoscope manual\"\n", roff(upper), version);
  out += fmt::format(".SH NAME\n{} \\- {}\n", roff(title), roff(command.manual.summary));
  out += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR{}\n", roff(command.name),
                     roff(command.usage().substr(command.name.size())));
  out += ".SH DESCRIPTION\n";
  for (const std::string& paragraph : command.paragraphs()) out += roff(paragraph) + "\n.PP\n";
  if (!command.commands.empty()) out += ".SH COMMANDS\n";
  for (const CommandModel& sub : command.commands) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(sub.words()), roff(sub.manual.summary));
  }
  append_options(out, command);
  if (!command.manual.examples.empty()) out += ".SH EXAMPLES\n";
  for (const Example& example : command.manual.examples) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(example.command), roff(example.effect));
  }
  if (!command.manual.exit_statuses.empty()) out += ".SH EXIT STATUS\n";
  for (const ExitStatus& exit : command.manual.exit_statuses) {
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(exit.status), roff(exit.meaning));
  }
  append_see_also(out, command);
  return out;
}

}  // namespace hodo::cli
