// Goes into seccomp's strict mode, where it may read, write, end and return from handlers, and does
// all of these: `strict exit|getpid|handler [prctl|seccomp]`.
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(const char* text) { (void)!write(STDOUT_FILENO, text, strlen(text)); }

static void handler(int number) {
  (void)number;
  say("handled\n");
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "exit";
  signal(SIGTRAP, handler);
  if (argc > 2 && strcmp(argv[2], "seccomp") == 0) {
    syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
  } else {
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  }
  say("in strict mode\n");
  for (volatile int i = 0; i < 100000; ++i) {
  }
  if (strcmp(how, "handler") == 0) {
    // The handler returns to behind it.
    __asm__ volatile("int3" ::: "memory");
  }
  if (strcmp(how, "getpid") == 0) getpid();
  say("ends\n");
  syscall(SYS_exit, 7);
}
