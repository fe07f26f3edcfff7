#include "complete.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

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

// The words that a value can be or, where they end in a colon, begin with; empty: others.
std::vector<std::string> value_words(const OptionModel& option) {
  if (option.value == "MOMENT") {
    return {"start", "end", "crash", "time:", "finding:", "call:", "return:", "line:", "at:"};
  }
  if (option.value == "STEP") return {"insn", "line", "over", "call", "return", "out"};
  return option.choices();
}

// The words that the command's first argument can be, as value_words().
std::vector<std::string> argument_words(const CommandModel& program, const CommandModel& command) {
  for (const OptionModel& option : command.options) {
    if (!option.argument) continue;
    return takes_command(option) ? command_words(program) : value_words(option);
  }
  return {};
}

// Words of `hodo` and the command.
std::size_t length(const CommandModel& command) { return is_grouped(command) ? 3 : 2; }

bool takes_file(const OptionModel& option) {
  constexpr std::array<std::string_view, 8> kFiles{"FILE",  "DIR", "FOLDER", "PATH",
                                                   "OTHER", "OUT", "SOCKET", "IMAGE"};
  return std::ranges::find(kFiles, option.value) != kFiles.end();
}

void append_bash_values(std::string& out, const CommandModel& command) {
  for (const OptionModel& option : command.options) {
    const std::vector<std::string> words = value_words(option);
    if (words.empty() || option.argument) continue;
    out +=
        fmt::format("    {}:{})\n      _hodo_words {}; return ;;\n", command.word(),
                    join(option.names, "|" + command.word() + ":"), shell_quoted(join(words, " ")));
  }
}

}  // namespace

std::string bash_completion(const CommandModel& program) {
  // Behind a colon there is more to write.
  std::string out =
      "# bash completion for hodo; made by 'hodo completion bash'\n"
      "_hodo_words() {\n"
      "  COMPREPLY=($(compgen -W \"$1\" -- \"$word\"))\n"
      "  if [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *: ]]; then compopt -o nospace 2> /dev/null; "
      "fi\n"
      "}\n"
      "_hodo() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local command=${COMP_WORDS[1]}\n"
      "  COMPREPLY=()\n";
  out += fmt::format(
      "  if ((COMP_CWORD == 1)); then _hodo_words {}; return; fi\n",
      shell_quoted(join(command_words(program), " ") + " " + join(option_words(program), " ")));
  for (const auto& [first, second] : groups(program)) {
    const std::string words = shell_quoted(join(second, " "));
    out += fmt::format(
        "  if [[ $command == {0} ]]; then\n    command+=-${{COMP_WORDS[2]}}\n"
        "    if ((COMP_CWORD == 2)); then _hodo_words {1}; return; fi\n  fi\n"
        "  if [[ $command == help && $previous == {0} ]]; then _hodo_words {1}; return; fi\n",
        first, words);
  }
  out += "  case $command:$previous in\n";
  for (const CommandModel& command : program.commands) append_bash_values(out, command);
  out += "  esac\n  case $command in\n";
  for (const CommandModel& command : program.commands) {
    std::vector<std::string> words = argument_words(program, command);
    out += fmt::format("    {})\n", command.word());
    if (command.runs_program) {
      out +=
          "      [[ $previous == -- ]] && COMPREPLY=($(compgen -c -- \"$word\")) && return\n"
          "      [[ \" ${COMP_WORDS[*]:0:COMP_CWORD} \" == *\" -- \"* ]] && return\n";
    }
    out += fmt::format("      if [[ $word == -* ]]; then _hodo_words {}; return; fi\n",
                       shell_quoted(join(option_words(command), " ")));
    if (!words.empty()) {
      out += fmt::format("      if ((COMP_CWORD == {})); then _hodo_words {}; return; fi\n",
                         length(command), shell_quoted(join(words, " ")));
    }
    out += "      ;;\n";
  }
  // Nothing to offer: bash goes on to file names.
  return out + "  esac\n}\ncomplete -o default -o bashdefault -F _hodo hodo\n";
}

namespace {

// What _arguments does where one of these words is written, else as `otherwise` says.
std::string zsh_action(const std::vector<std::string>& words, std::string_view otherwise) {
  if (words.empty()) return fmt::format(":value:{}", otherwise);
  std::string out = ":value: _hodo_words";  // the blank: with no words but these
  for (const std::string& word : words) {
    out += " " + (word.ends_with(':') ? word.substr(0, word.size() - 1) + "\\:" : word);
  }
  return out;
}

std::string zsh_action(const OptionModel& option) {
  if (option.value.empty()) return "";
  return zsh_action(value_words(option), takes_file(option) ? "_files" : " ");
}

}  // namespace

std::string zsh_completion(const CommandModel& program) {
  // Behind a colon there is more to write.
  std::string out =
      "#compdef hodo\n# zsh completion for hodo; made by 'hodo completion zsh'\n"
      "_hodo_words() {\n"
      "  compadd -- ${@:#*:}\n"
      "  compadd -S '' -- ${(M)@:#*:}\n"
      "}\n"
      "_hodo() {\n  local -a known\n  known=(\n";  // $commands is the shell's
  std::string last;
  for (const CommandModel& command : program.commands) {
    // A group is described by its first command.
    const std::string first = first_word(command);
    if (std::exchange(last, first) == first) continue;
    out += fmt::format("    {}\n", shell_quoted(first + ":" + brief(command.manual.summary)));
  }
  out +=
      "  )\n  if ((CURRENT == 2)); then\n    _describe -t commands 'hodo command' known\n"
      "    return\n  fi\n  local command=$words[2]\n  shift words\n  ((CURRENT--))\n";
  for (const auto& [first, second] : groups(program)) {
    out += fmt::format(
        "  if [[ $command == help && $words[2] == {0} ]]; then compadd {1}; return; fi\n"
        "  if [[ $command == {0} ]]; then\n"
        "    if ((CURRENT == 2)); then compadd {1}; return; fi\n"
        "    command+=-$words[2]\n    shift words\n    ((CURRENT--))\n  fi\n",
        first, join(second, " "));
  }
  out += "  local -i at=${words[(Ie)--]}\n";
  for (const CommandModel& command : program.commands) {
    if (!command.runs_program) continue;
    out += fmt::format(
        "  if [[ $command == {} ]] && ((at > 0 && at < CURRENT)); then\n"
        "    shift $at words\n    ((CURRENT -= at))\n"
        "    if ((CURRENT == 1)); then _command_names -e; else _normal; fi\n    return\n  fi\n",
        command.word());
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
      for (const std::string& name : option.names) {
        out += " \\\n      " + shell_quoted(fmt::format("{}[{}]{}", name, plain(brief(option.text)),
                                                        zsh_action(option)));
      }
    }
    const std::vector<std::string> words = argument_words(program, command);
    if (!words.empty()) out += " \\\n      " + shell_quoted("1" + zsh_action(words, ""));
    out += command.runs_program ? " \\\n      '(-)1:command: _command_names -e'"
                                  " \\\n      '*::argument:_normal' ;;\n"
                                : " \\\n      '*:argument:_files' ;;\n";
  }
  return out + "  esac\n}\n_hodo \"$@\"\n";
}

std::string fish_completion(const CommandModel& program) {
  std::string out =
      "# fish completion for hodo; made by 'hodo completion fish'\n"
      "function __hodo_is\n"
      "  set -l words (commandline -opc)\n"
      "  string match -q -- \"$argv[1] *\" \"$words[2..-1] \"\n"
      "end\n"
      "function __hodo_stands_behind\n"
      "  set -l words (commandline -opc)\n"
      "  test \"$words[2..-1]\" = \"$argv[1]\"\n"
      "end\n";
  std::string last;
  for (const CommandModel& command : program.commands) {
    const std::string first = first_word(command);
    if (std::exchange(last, first) == first) continue;
    out += fmt::format("complete -c hodo -n __fish_use_subcommand -f -a {} -d {}\n", first,
                       shell_quoted(brief(command.manual.summary)));
  }
  for (const auto& [first, second] : groups(program)) {
    for (const std::string& before : {first, "help " + first}) {
      out += fmt::format("complete -c hodo -n '__hodo_stands_behind \"{}\"' -f -a '{}'\n", before,
                         join(second, " "));
    }
  }
  for (const CommandModel& command : program.commands) {
    const std::string when = fmt::format("'__hodo_is \"{}\"'", command.words());
    for (const OptionModel& option : command.options) {
      if (option.argument) continue;
      out += fmt::format("complete -c hodo -n {}", when);
      for (const std::string& name : option.names) {
        bool is_long = name.starts_with("--");
        out += fmt::format(" -{} {}", is_long ? 'l' : 's', name.substr(is_long ? 2 : 1));
      }
      const std::vector<std::string> words = value_words(option);
      if (!words.empty()) {
        out += fmt::format(" -x -a {}", shell_quoted(join(words, " ")));
      } else if (!option.value.empty()) {
        out += takes_file(option) ? " -r" : " -x";
      }
      out += fmt::format(" -d {}\n", shell_quoted(brief(option.text)));
    }
    const std::vector<std::string> words = argument_words(program, command);
    if (!words.empty()) {
      out += fmt::format("complete -c hodo -n '__hodo_stands_behind \"{}\"' -f -a {}\n",
                         command.words(), shell_quoted(join(words, " ")));
    }
    if (command.runs_program) {
      out += fmt::format(
          "complete -c hodo -n '__hodo_is \"{}\"; and test (commandline -opc)[-1] = --' -x "
          "-a '(__fish_complete_command)'\n",
          command.words());
    }
  }
  return out;
}

}  // namespace hodo::cli
