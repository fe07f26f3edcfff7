#include "hodo/capture/group_signals.h"

#include <initializer_list>

namespace hodo::capture {

sigset_t group_signals() {
  sigset_t out;
  sigemptyset(&out);
  const auto add = [&](int signal) {
    struct sigaction action = {};
    const bool known = ::sigaction(signal, nullptr, &action) == 0;
    if (known && action.sa_handler == SIG_DFL) sigaddset(&out, signal);
  };
  for (const int signal : {SIGABRT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR,
                           SIGSTKFLT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
    add(signal);
  }
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) add(signal);
  return out;
}

}  // namespace hodo::capture
