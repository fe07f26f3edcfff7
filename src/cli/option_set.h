// The options of one command, bound to the variables that they set. A thin layer over CLI11, whose
// header takes longer to compile than all else of a command: only option_set.cc, command.cc and
// model.cc see it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
class Option;
}  // namespace CLI

namespace hodo::cli {

// An option that was just added, to say more of it. Valid as long as the Program.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  // What stands for the value in the help: "FILE"; "text|csv" offers two words.
  Option& type_name(const std::string& name);
  // The help tells what the variable holds now.
  Option& capture_default_str();
  // It must be given.
  Option& required();
  // Of an option that may be given several times: one value each time.
  Option& one_at_a_time();
  // Not in the help.
  Option& hidden();
  // Only values from `low` to `high`.
  Option& range(std::uint64_t low, std::uint64_t high = ~std::uint64_t{0});
  // From 0 to 100.
  Option& percent();
  Option& existing_directory();

 private:
  CLI::Option* option_;
};

class OptionSet {
 public:
  explicit OptionSet(CLI::App& app) : app_(&app) {}

  // "-o,--output" takes a value, "FILE" is an argument. `value` must outlive the Program's run and
  // holds the default; a vector takes as many as are given. option_set.cc lists the types that T
  // can be.
  template <class T>
  Option add_option(const std::string& names, T& value, const std::string& text) const;
  Option add_flag(const std::string& names, bool& value, const std::string& text) const;
  // `take` gets the word given and returns what is wrong with it, or nothing.
  Option add_word(const std::string& names, std::function<std::string(const std::string&)> take,
                  const std::string& text) const;
  // The words behind the options are another program's command line: Program::remaining().
  void prefix_command() const;

 private:
  CLI::App* app_;
};

// An option that takes one of a few words, each standing for a value of T. `value` must outlive the
// Program's run and holds the default.
template <class T>
Option add_choice(const OptionSet& options, const std::string& names, T& value,
                  const std::vector<std::pair<std::string, T>>& choices, const std::string& text) {
  std::string words;
  for (const auto& [word, unused] : choices) words += (words.empty() ? "" : "|") + word;
  auto take = [choices, words, &value](const std::string& given) -> std::string {
    for (const auto& [word, meaning] : choices) {
      if (word != given) continue;
      value = meaning;
      return "";
    }
    return "'" + given + "' is none of " + words;
  };
  return options.add_word(names, take, text).type_name(words);
}

}  // namespace hodo::cli
