#include "complete.h"

#include <fmt/format.h>

#include <map>

#include "hodo/view/shell.h"

namespace hodo::cli {
namespace {

using view::shell_quoted;

std::string join(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += between;
    out += word;
  }
  return out;
}

// The description's first clause: menus have no room for more.
std::string brief(std::string_view text) {
  return std::string(text.substr(0, text.find_first_of(";\n")));
}

std::string first_word(const CommandModel& command) {
  return command.words().substr(0, command.words().find(' '));
}

bool is_grouped(const CommandModel& command) { return command.words() != first_word(command); }

// What can follow `hodo`: of commands of two words, the first.
std::vector<std::string> command_words(const CommandModel& program) {
  std::vector<std::string> words;
  for (const CommandModel& command : program.commands) {
    const std::string first = first_word(command);
    if (words.empty() || words.back() != first) words.push_back(first);
  }
  return words;
}

// {first word: the second ones}, of commands of two words.
std::map<std::string, std::vector<std::string>> groups(const CommandModel& program) {
  std::map<std::string, std::vector<std::string>> out;
  for (const CommandModel& command : program.commands) {
    const std::string first = first_word(command);
    if (is_grouped(command)) out[first].push_back(command.words().substr(first.size() + 1));
  }
  return out;
}

std::vector<std::string> option_words(const CommandModel& command) {
  std::vector<std::string> words;
  for (const OptionModel& option : command.options) {
    words.insert(words.end(), option.names.begin(), option.names.end());
  }
  return words;
}

bool takes_command(const OptionModel& option) { return option.value == "COMMAND"; }

// The words that the command's arguments offer; empty where they are files.
std::vector<std::string> argument_words(const CommandModel& program, const CommandModel& command) {
  for (const OptionModel& option : command.options) {
    if (option.argument && takes_command(option)) return command_words(program);
    if (option.argument && option.value == "SHELL") return {"bash", "zsh", "fish"};
  }
  return {};
}

void append_bash_values(std::string& out, const CommandModel& command) {
  for (const OptionModel& option : command.options) {
    if (option.choices().empty()) continue;
    out += fmt::format("    {}:{})\n      COMPREPLY=($(compgen -W {} -- \"$word\")); return ;;\n",
                       command.word(), join(option.names, "|" + command.word() + ":"),
                       shell_quoted(join(option.choices(), " ")));
  }
}

}  // namespace

std::string bash_completion(const CommandModel& program) {
  std::string out =
      "# bash completion for hodo; made by 'hodo completion bash'\n"
      "_hodo() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local command=${COMP_WORDS[1]}\n"
      "  COMPREPLY=()\n";
  out += fmt::format(
      "  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W {} -- \"$word\")); return\n  "
      "fi\n",
      shell_quoted(join(command_words(program), " ") + " " + join(option_words(program), " ")));
  for (const auto& [first, second] : groups(program)) {
    out += fmt::format(
        "  if [[ $command == {} ]]; then\n    command+=-${{COMP_WORDS[2]}}\n"
        "    ((COMP_CWORD == 2)) && COMPREPLY=($(compgen -W {} -- \"$word\")) && return\n  fi\n",
        first, shell_quoted(join(second, " ")));
  }
  out += "  case $command:$previous in\n";
  for (const CommandModel& command : program.commands) append_bash_values(out, command);
  out += "  esac\n  case $command in\n";
  for (const CommandModel& command : program.commands) {
    std::vector<std::string> words = argument_words(program, command);
    out += fmt::format("    {})\n", command.word());
    out += fmt::format(
        "      [[ $word == -* ]] && COMPREPLY=($(compgen -W {} -- \"$word\")) && return\n",
        shell_quoted(join(option_words(command), " ")));
    if (!words.empty()) {
      out += fmt::format("      COMPREPLY=($(compgen -W {} -- \"$word\")); return\n",
                         shell_quoted(join(words, " ")));
    }
    out += "      ;;\n";
  }
  // Nothing to offer: bash goes on to file names.
  return out + "  esac\n}\ncomplete -o default -o bashdefault -F _hodo hodo\n";
}

std::string zsh_completion(const CommandModel& program) {
  std::string out =
      "#compdef hodo\n# zsh completion for hodo; made by 'hodo completion zsh'\n"
      "_hodo() {\n  local -a commands\n  commands=(\n";
  for (const CommandModel& command : program.commands) {
    // A group is described by its first command.
    out += fmt::format("    {}\n",
                       shell_quoted(first_word(command) + ":" + brief(command.manual.summary)));
  }
  out +=
      "  )\n  if ((CURRENT == 2)); then\n    _describe -t commands 'hodo command' commands\n"
      "    return\n  fi\n  local command=$words[2]\n  shift words\n  ((CURRENT--))\n";
  for (const auto& [first, second] : groups(program)) {
    out += fmt::format(
        "  if [[ $command == {} ]]; then\n"
        "    if ((CURRENT == 2)); then compadd {}; return; fi\n"
        "    command+=-$words[2]\n    shift words\n    ((CURRENT--))\n  fi\n",
        first, join(second, " "));
  }
  out += "  case $command in\n";
  // Brackets and colons separate the parts of an _arguments specification.
  auto plain = [](std::string text) {
    for (char& c : text) {
      if (c == '[' || c == ']' || c == ':') c = ' ';
    }
    return text;
  };
  for (const CommandModel& command : program.commands) {
    out += fmt::format("    {}) _arguments -s", command.word());
    for (const OptionModel& option : command.options) {
      if (option.argument) continue;
      std::string action = option.value.empty() ? "" : ":value:_files";
      if (!option.choices().empty()) {
        action = fmt::format(":value:({})", join(option.choices(), " "));
      }
      for (const std::string& name : option.names) {
        out += " \\\n      " +
               shell_quoted(fmt::format("{}[{}]{}", name, plain(brief(option.text)), action));
      }
    }
    std::vector<std::string> words = argument_words(program, command);
    std::string argument = words.empty() ? "_files" : fmt::format("({})", join(words, " "));
    out += " \\\n      " + shell_quoted("*:argument:" + argument) + " ;;\n";
  }
  return out + "  esac\n}\n_hodo \"$@\"\n";
}

std::string fish_completion(const CommandModel& program) {
  std::string out = "# fish completion for hodo; made by 'hodo completion fish'\n";
  for (const CommandModel& command : program.commands) {
    out += fmt::format("complete -c hodo -n __fish_use_subcommand -f -a {} -d {}\n",
                       first_word(command), shell_quoted(brief(command.manual.summary)));
  }
  for (const auto& [first, second] : groups(program)) {
    const std::string words = join(second, " ");
    out += fmt::format(
        "complete -c hodo -n '__fish_seen_subcommand_from {}; and not __fish_seen_subcommand_from "
        "{}' -f -a '{}'\n",
        first, words, words);
  }
  for (const CommandModel& command : program.commands) {
    std::string seen = "__fish_seen_subcommand_from " + first_word(command);
    if (is_grouped(command)) {
      seen += "; and __fish_seen_subcommand_from " +
              command.words().substr(first_word(command).size() + 1);
    }
    std::string when = shell_quoted(seen);
    for (const OptionModel& option : command.options) {
      if (option.argument) continue;
      out += fmt::format("complete -c hodo -n {}", when);
      for (const std::string& name : option.names) {
        bool is_long = name.starts_with("--");
        out += fmt::format(" -{} {}", is_long ? 'l' : 's', name.substr(is_long ? 2 : 1));
      }
      if (!option.choices().empty()) {
        out += fmt::format(" -x -a {}", shell_quoted(join(option.choices(), " ")));
      } else if (!option.value.empty()) {
        out += " -r";
      }
      out += fmt::format(" -d {}\n", shell_quoted(brief(option.text)));
    }
    std::vector<std::string> words = argument_words(program, command);
    if (!words.empty()) {
      out += fmt::format("complete -c hodo -n {} -f -a {}\n", when, shell_quoted(join(words, " ")));
    }
  }
  return out;
}

}  // namespace hodo::cli
