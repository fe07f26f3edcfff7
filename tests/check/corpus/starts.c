// Functions that start programs, load libraries, change rights and memory, as every code model
// calls them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char** environ;
static void by_fork(void) {
  pid_t child = fork();
  if (child == 0) {
    execl("/bin/true", "true", (char*)0);
    _exit(1);
  }
  waitpid(child, 0, 0);
}
int main(void) {
  for (int i = 0; i < 2; i++) {
    by_fork();
    if (system("true") != 0) return 1;
    pid_t child;
    char* args[] = {"true", 0};
    if (posix_spawnp(&child, "true", 0, 0, args, environ) == 0) waitpid(child, 0, 0);
    FILE* pipe = popen("echo piped", "r");
    char line[32];
    if (fgets(line, sizeof line, pipe)) fputs(line, stdout);
    pclose(pipe);
    void* page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(page, 4096, PROT_READ);
    munmap(page, 4096);
    if (setuid(getuid()) != 0) return 2;
    printf("%d\n", (int)syscall(SYS_getpid) == getpid());
#ifndef STATIC
    void* m = dlopen("libm.so.6", RTLD_NOW);
    double (*root)(double) = m ? (double (*)(double))dlsym(m, "sqrt") : 0;
    if (root) printf("%g\n", root(49));
#endif
  }
  return 0;
}
