// Functions that start programs or change rights, called by pointers that lie in the caller's frame
// (compile without optimisation).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int asked(void) {
  int (*set)(uid_t) = (int (*)(uid_t))dlsym(RTLD_DEFAULT, "setuid");
  return set != NULL ? set(getuid()) : 1;
}

static int in_loop(int rounds) {
  int (*set)(gid_t) = setgid;
  int (*protect)(void*, size_t, int) = mprotect;
  void* page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int bad = 0;
  for (int i = 0; i < rounds; ++i) {
    if (i % 2 == 0)
      bad += set(getgid()) != 0;
    else
      bad += protect(page, 4096, i % 3 == 0 ? PROT_READ : PROT_READ | PROT_WRITE) != 0;
  }
  return bad;
}

static int child(void) {
  int (*start)(const char*, char* const*) = execv;
  char* const words[] = {"/bin/true", NULL};
  const pid_t pid = fork();
  if (pid == 0) {
    start(words[0], words);
    _exit(1);
  }
  int status = 1;
  waitpid(pid, &status, 0);
  return status;
}

int main(void) {
  printf("%d %d %d\n", asked(), in_loop(10), child());
  return 0;
}
