// Asks for a shadow stack, as glibc does at a program's start where it is told to (GLIBC_TUNABLES,
// glibc.cpu.x86_shstk). Prints what came of it.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARCH_SHSTK_ENABLE 0x5001
#define ARCH_SHSTK_SHSTK 1

int main(void) {
  // Where it works, nothing that was called before can return: that is not on it.
  const long result = syscall(SYS_arch_prctl, ARCH_SHSTK_ENABLE, ARCH_SHSTK_SHSTK);
  puts(result == 0 ? "a shadow stack" : strerror(errno));
  fflush(stdout);
  _exit(0);
}
