// hodo completion SHELL: the shell's completion script on standard output.
#include <memory>

#include "commands.h"
#include "complete.h"
#include "output_file.h"

namespace hodo::cli {
namespace {

enum class Shell : unsigned char { bash, zsh, fish };

int run(const Program& program, Shell shell) {
  CommandModel model = model_of(program, program.app());
  std::string script = shell == Shell::bash  ? bash_completion(model)
                       : shell == Shell::zsh ? zsh_completion(model)
                                             : fish_completion(model);
  return print_text(script);
}

}  // namespace

void add_completion(Program& program) {
  auto shell = std::make_shared<Shell>(Shell::bash);
  const OptionSet app = program.command(
      "completion",
      {.summary = "print a completion script for a shell",
       .description = "The script completes commands, options and their values. 'cmake --install' "
                      "puts it where the shells look for it.",
       .examples = {{"source <(hodo completion bash)", "Complete in the running bash."},
                    {"hodo completion fish > ~/.config/fish/completions/hodo.fish",
                     "Complete in every fish from now on."}},
       .exit_statuses = {{"0", "Done."}, {"2", "No such shell is known."}}},
      [&program, shell] { return run(program, *shell); });
  add_choice<Shell>(app, "SHELL", *shell,
                    {{"bash", Shell::bash}, {"zsh", Shell::zsh}, {"fish", Shell::fish}},
                    "bash, zsh or fish")
      .required();
}

}  // namespace hodo::cli
