// engine-run ENGINE [-o FILE] [--no-random] [--cache-size BYTES] [--loop no|yes] -- COMMAND: runs a
// program on the engine without a recorder, for measurements and tests. With -o its packets go into
// FILE as they are, without they are thrown away. --loop: whether LOOP counts as fast; as the
// processor has it if not given.
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine_image.h"
#include "processor_flag.h"
#include "tsc_clock.h"

int main(int argc, char** argv) {
  hodo::relay::StartInfo info;
  info.loop_is_fast = hodo::capture::loop_is_fast();
  info.has_keys = hodo::capture::has_protection_keys();
  bool random = true;
  int at = 2;
  for (; at < argc && std::strcmp(argv[at], "--") != 0; ++at) {
    if (std::strcmp(argv[at], "-o") == 0 && at + 1 < argc) {
      std::strncpy(info.output, argv[++at], sizeof(info.output) - 1);
    } else if (std::strcmp(argv[at], "--no-random") == 0) {
      random = false;
    } else if (std::strcmp(argv[at], "--cache-size") == 0 && at + 1 < argc) {
      info.cache_bytes = std::strtoull(argv[++at], nullptr, 10);
    } else if (std::strcmp(argv[at], "--loop") == 0 && at + 1 < argc) {
      info.loop_is_fast = std::strcmp(argv[++at], "yes") == 0;
    }
  }
  if (at + 1 >= argc) {
    std::fprintf(stderr,
                 "usage: engine-run ENGINE [-o FILE] [--no-random] [--cache-size BYTES] [--loop "
                 "no|yes] -- COMMAND\n");
    return 2;
  }
  if (hodo::capture::has_steady_tsc()) info.clock = hodo::capture::measure_tsc();
  info.rtit_ctl =
      1 | 8 | 1 << 9 | 1 << 10 | 1 << 13 | 3 << 14 | 3 << 24;  // as hodo record asks for
  const auto engine = hodo::capture::EngineImage::load(argv[1]);
  if (!engine) {
    std::fprintf(stderr, "engine-run: %s\n", engine.error().message.c_str());
    return 70;
  }
  const pid_t pid = fork();
  if (pid == 0) {
    if (!random) personality(ADDR_NO_RANDOMIZE);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execvp(argv[at + 1], argv + at + 1);
    std::perror(argv[at + 1]);
    std::_Exit(70);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (!WIFSTOPPED(status)) return 127;
  if (const auto started = engine->start_in(pid, info); !started) {
    std::fprintf(stderr, "engine-run: %s\n", started.error().message.c_str());
    kill(pid, SIGKILL);
    return 70;
  }
  ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status)) {
    std::fprintf(stderr, "engine-run: killed by signal %d\n", WTERMSIG(status));
    return 128 + WTERMSIG(status);
  }
  return WEXITSTATUS(status);
}
