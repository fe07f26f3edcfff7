// private COMMAND...: runs it when it has forbidden others to look into it.
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return 70;
  execv(argv[1], argv + 1);
  perror(argv[1]);
  return 70;
}
