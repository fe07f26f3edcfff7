// How a subcommand makes itself known: one function per file, add_NAME(Program&), listed in
// commands.h. Help, manual pages and shell completions are all made from what it registers here.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "option_set.h"

namespace hodo::cli {

// The exit statuses that every command shares.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFindings = 1;    // of check and its like: something was found
inline constexpr int kExitUsage = 2;       // usage error, or input that cannot be read at all
inline constexpr int kExitIncomplete = 3;  // the work is done, but part of the data was lost

struct Example {
  std::string_view command;  // as typed in a shell
  std::string_view effect;   // what it is good for, one sentence
};

struct ExitStatus {
  std::string_view status;  // "0"
  std::string_view meaning;
};

// The prose of a command. The views must live as long as the program: string literals.
struct Manual {
  std::string_view summary;      // one line without a period, "list every branch of a recording"
  std::string_view description;  // paragraphs, one blank line between; single newlines are blanks
  std::vector<Example> examples;
  std::vector<ExitStatus> exit_statuses;
};

// The statuses of the reading commands.
std::vector<ExitStatus> reading_exit_statuses();

// What a command does once its options are parsed; returns the exit status.
using Action = std::function<int()>;

class Program {
 public:
  Program();
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Adds the subcommand `name`; "vm-record" is typed as `hodo vm record`. The caller adds options,
  // bound to storage that `action` keeps alive.
  OptionSet command(const std::string& name, Manual manual, Action action);

  // Parses and runs. Writes help to standard output, usage errors to standard error.
  int run(int argc, char** argv);

  const CLI::App& app() const { return *app_; }
  // The manual that command() was given, or that of the whole program.
  const Manual& manual(const CLI::App& app) const;
  // The subcommand called `name`, or null.
  const CLI::App* find(std::string_view name) const;
  // After parsing: the words of the other program's command line that followed the subcommand
  // `name`, which exists.
  std::vector<std::string> remaining(std::string_view name) const;
  // The commands that begin with this word, "'hodo vm record' or 'hodo vm ps'"; empty if there are
  // none.
  std::string group(std::string_view word) const;
  // "unknown command 'brnch' (did you mean 'branches'?)"
  std::string unknown(std::string_view name) const;
  // A command's name as it is typed: "vm record".
  static std::string spoken(std::string name);

 private:
  struct Entry {
    const CLI::App* app;
    Manual manual;
    Action action;
  };

  int parse(int argc, char** argv, const Entry*& chosen);
  // Makes one word of the two that name a command.
  void join_group(std::vector<std::string>& words) const;

  std::unique_ptr<CLI::App> app_;
  Manual manual_;
  std::deque<Entry> entries_;
};

}  // namespace hodo::cli
