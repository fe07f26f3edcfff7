// How to run a program under QEMU so that it cannot tell: what execve(2) would have done, decided
// here. Used by the recorder for the first program and by the plugin for every program that one
// executes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/relay/protocol.h"

namespace hodo::relay {

// What a file is to execve(2), after following "#!" lines.
struct Executable {
  enum class Kind : std::uint8_t {
    x86_64,
    i386,
    foreign,     // `obstacle` says why it cannot be recorded
    not_binary,  // neither ELF nor "#!": execve says ENOEXEC
  };
  Kind kind = Kind::not_binary;
  std::string obstacle;  // of what is foreign, for the user: "it is set-user-ID, ..."
  std::string path;      // the ELF file
  std::string name;      // of the process: the file's that was executed, be it a script
  std::vector<std::string>
      argv;  // with the interpreters' arguments in front, as binfmt_script does
};

// Errors, by which execve's own errno can be told: not_found, not_permitted, io.
Result<Executable> inspect(const std::string& path, std::vector<std::string> argv);

struct ExecPlan {
  std::string program;  // QEMU
  std::vector<std::string> argv;
  std::vector<std::string> environment;
};

// The QEMU command line that runs `executable` with `environment`, with `plugin` (path and
// arguments, already joined) loaded, which is given `key`. Variables that would act on QEMU itself
// (LD_*, QEMU_*, ...) reach only the program. Errors: unsupported (no QEMU for this kind of
// program).
Result<ExecPlan> plan_exec(const Executable& executable,
                           const std::vector<std::string>& environment, const Settings& settings,
                           const Key& key, std::string_view plugin);

// A value inside QEMU's comma-separated option syntax.
std::string escape_option(std::string_view value);

}  // namespace hodo::relay
