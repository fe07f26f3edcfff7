// Becomes a daemon, closes every descriptor, and only then works: writes "done" to the file that is
// named on its command line.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void work(void) {
  volatile int sum = 0;
  for (int i = 0; i < 100000; ++i) sum += i & 3 ? i : -i;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (fork() != 0) return 0;
  setsid();
  if (fork() != 0) return 0;
  for (int fd = 0; fd < 1024; ++fd) close(fd);
  usleep(300000);  // the first process has long ended by then
  work();
  const int file = open(argv[1], O_CREAT | O_WRONLY, 0600);
  return write(file, "done", 4) == 4 ? 0 : 1;
}
