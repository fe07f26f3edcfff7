// Test fixture: functions that start programs or change rights, asked for by name and called
// through the variables that keep them, as V8 does for pkey_mprotect, and one through a register.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int (*Change)(unsigned);
typedef int (*Protect)(void*, size_t, int);

static Change change_user;
static Protect protect;

static __attribute__((noinline)) int ask(void) {
  void* const user = dlsym(RTLD_DEFAULT, "setuid");
  void* const pages = dlsym(RTLD_DEFAULT, "mprotect");
  if (user == NULL || pages == NULL) return 0;
  change_user = (Change)user;
  protect = (Protect)pages;
  return 1;
}

// The pointer comes by branches.
static __attribute__((noinline)) int protect_by(int rights, void* page) {
  const Protect by = protect;
  if (by == NULL) return -1;
  if (rights == (PROT_READ | PROT_WRITE)) puts("read and write");
  return by(page, 4096, rights) + 1;
}

static __attribute__((noinline)) int change_group(void) {
  const Change change = (Change)dlsym(RTLD_DEFAULT, "setgid");
  return change == NULL ? -1 : change(getgid()) + 1;
}

int main(void) {
  void* const page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || !ask()) return 1;
  if (change_user(getuid()) != 0 || protect_by(PROT_READ | PROT_WRITE, page) != 1) return 1;
  if (change_group() != 1) return 1;
  puts("changed");
  return 0;
}
