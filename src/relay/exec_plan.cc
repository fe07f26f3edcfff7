#include "hodo/relay/exec_plan.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ranges>

#include "hodo/relay/script_line.h"

namespace hodo::relay {
namespace {

std::unexpected<Error> exec_error(const std::string& path, int error) {
  const ErrorCode code = error == ENOENT || error == ENOTDIR ? ErrorCode::not_found
                         : error == EACCES || error == EPERM ? ErrorCode::not_permitted
                                                             : ErrorCode::io;
  return fail(code, path + ": " + std::strerror(error));
}

struct Head {
  std::array<char, kProgramHead> bytes{};
  std::size_t size = 0;
  std::string obstacle;
};

// The kernel does not give these to a program that somebody without them traces. They are those of
// the ELF file, scripts have none.
std::string other_rights(const std::string& path, const struct stat& st) {
  struct statvfs fs{};
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
      (statvfs(path.c_str(), &fs) == 0 && (fs.f_flag & ST_NOSUID) != 0)) {
    return {};
  }
  if ((st.st_mode & S_ISUID) != 0 && st.st_uid != geteuid()) {
    return "it is set-user-ID; remedy: run hodo as its owner (user " + std::to_string(st.st_uid) +
           ")";
  }
  if ((st.st_mode & S_ISGID) != 0 && st.st_gid != getegid()) {
    return "it is set-group-ID; remedy: run hodo with its group (" + std::to_string(st.st_gid) +
           ")";
  }
  if (geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
    return "its file has capabilities; remedy: run hodo as root";
  }
  return {};
}

Result<Head> read_head(const std::string& path) {
  struct stat st{};
  if (stat(path.c_str(), &st) != 0) return exec_error(path, errno);
  if (S_ISDIR(st.st_mode) || access(path.c_str(), X_OK) != 0) return exec_error(path, EACCES);
  Head head;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  // Executable but not readable: the kernel can run it, but not let anybody look into it.
  if (fd < 0 && errno == EACCES) {
    head.obstacle = "it is not readable; remedy: make it so, or run hodo as root";
    return head;
  }
  if (fd < 0) return exec_error(path, errno);
  const ssize_t got = read(fd, head.bytes.data(), head.bytes.size());
  close(fd);
  head.size = got > 0 ? static_cast<std::size_t>(got) : 0;
  if (std::string_view(head.bytes.data(), head.size).starts_with("\177ELF")) {
    head.obstacle = other_rights(path, st);
  }
  return head;
}

Executable::Kind elf_kind(const Head& head) {
  using Kind = Executable::Kind;
  if (head.size < sizeof(Elf32_Ehdr)) return Kind::foreign;
  Elf32_Ehdr elf;  // the fields used lie at the same offsets in both classes
  std::memcpy(&elf, head.bytes.data(), sizeof(elf));
  if (elf.e_machine == EM_X86_64 && elf.e_ident[EI_CLASS] == ELFCLASS64) return Kind::x86_64;
  if (elf.e_machine == EM_386 && elf.e_ident[EI_CLASS] == ELFCLASS32) return Kind::i386;
  return Kind::foreign;
}

// Variables that change how QEMU itself, or the plugin in it, runs.
bool acts_on_emulator(std::string_view variable) {
  constexpr std::array<std::string_view, 7> kPrefixes = {
      "LD_", "QEMU_", "GLIBC_TUNABLES=", "MALLOC_", "G_SLICE=", "G_DEBUG=", "HODO_KEY="};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view p) { return variable.starts_with(p); });
}

}  // namespace

Result<Executable> inspect(const std::string& path, std::vector<std::string> argv) {
  Executable result{
      .path = path, .name = path.substr(path.rfind('/') + 1), .argv = std::move(argv)};
  for (int depth = 0; depth <= kMaxInterpreters; ++depth) {
    const auto head = read_head(result.path);
    if (!head) return std::unexpected(head.error());
    const std::string_view bytes(head->bytes.data(), head->size);
    if (!head->obstacle.empty()) {
      result.kind = Executable::Kind::foreign;
      result.obstacle = head->obstacle;
      return result;
    }
    if (bytes.starts_with("\177ELF")) {
      result.kind = elf_kind(*head);
      if (result.kind == Executable::Kind::foreign) result.obstacle = "it is not an x86 program";
      return result;
    }
    const ScriptLine line = script_line(bytes);
    if (line.interpreter.empty()) {
      result.kind = Executable::Kind::not_binary;
      return result;
    }
    std::vector<std::string> wrapped = {std::string(line.interpreter)};
    if (!line.argument.empty()) wrapped.emplace_back(line.argument);
    wrapped.push_back(result.path);
    if (!result.argv.empty())
      wrapped.insert(wrapped.end(), result.argv.begin() + 1, result.argv.end());
    result.argv = std::move(wrapped);
    result.path = line.interpreter;
  }
  return exec_error(path, ELOOP);
}

Result<ExecPlan> plan_exec(const Executable& executable,
                           const std::vector<std::string>& environment, const Settings& settings,
                           const Key& key, std::string_view plugin) {
  const bool wide = executable.kind == Executable::Kind::x86_64;
  ExecPlan plan;
  plan.program = wide ? settings.qemu64.data() : settings.qemu32.data();
  if (plan.program.empty()) {
    return fail(ErrorCode::unsupported,
                std::string("no qemu-") + (wide ? "x86_64" : "i386") + " on this machine");
  }
  plan.argv = {plan.program, "-plugin",
               std::string(plugin) + ",comm=" + escape_option(executable.name) +
                   ",path=" + escape_option(executable.path)};
  if (settings.watcher[0] != '\0') {
    plan.argv.insert(plan.argv.end(), {"-plugin", settings.watcher.data()});
  }
  // For the plugin; the program does not get it.
  const std::string variable(kKeyVariable);
  plan.environment = {variable + "=" + std::string(key.data(), key.size())};
  plan.argv.insert(plan.argv.end(), {"-U", variable});
  // Backwards: QEMU keeps its list of variables newest first, and of two with one name the newest,
  // where getenv(3) finds the first.
  for (const std::string& entry : std::views::reverse(environment)) {
    // QEMU splits the argument of -E at commas, so a value with one has to go the other way.
    if (acts_on_emulator(entry) && entry.find(',') == entry.npos) {
      plan.argv.insert(plan.argv.end(), {"-E", entry});
    } else {
      plan.environment.push_back(entry);
    }
  }
  if (!executable.argv.empty()) plan.argv.insert(plan.argv.end(), {"-0", executable.argv[0]});
  // A path that QEMU would take for an option.
  plan.argv.push_back(executable.path.starts_with("-") ? "./" + executable.path : executable.path);
  if (executable.argv.size() > 1) {
    plan.argv.insert(plan.argv.end(), executable.argv.begin() + 1, executable.argv.end());
  }
  return plan;
}

std::string escape_option(std::string_view value) {
  std::string out;
  for (const char c : value) {
    out += c;
    if (c == ',') out += c;
  }
  return out;
}

}  // namespace hodo::relay
