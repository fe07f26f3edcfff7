// Test fixture: changes its user or group to what they are, through a pointer: "table", one in
// constant data, as programs have them on purpose; "chosen", one of two that the caller names;
// "pointer", one that was overwritten, behind such a choice in the text; "context", by a context
// whose function it is. The table's user also maps memory through a variable, as SQLite does.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

typedef int (*Change)(unsigned);

static const struct {
  const char* name;
  Change change;
} kTable[] = {{"user", setuid}, {"group", setgid}};

static void* (*volatile map)(void*, size_t, int, int, int, off_t) = mmap;

static int keep(unsigned id) { return (int)id; }

static struct {
  char name[16];
  Change change;
} object = {"keep", keep};

static int change_by_context(void) {
  static char stack[1 << 16];
  static ucontext_t here;
  static ucontext_t other;
  getcontext(&other);
  other.uc_stack.ss_sp = stack;
  other.uc_stack.ss_size = sizeof stack;
  other.uc_link = &here;
  makecontext(&other, (void (*)(void))seteuid, 1, geteuid());
  return swapcontext(&here, &other);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (strcmp(argv[1], "context") == 0) {
    if (change_by_context() != 0) return 1;
  } else if (strcmp(argv[1], "table") == 0) {
    if (setegid(getegid()) != 0) return 1;  // by its name
    if (map(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) return 1;
    const unsigned ids[] = {getuid(), getgid()};
    for (volatile int i = 0; i < 2; ++i) {  // or compilers call by name
      if (kTable[i].change(ids[i]) != 0) return 1;
    }
  } else {
    if (strcmp(argv[1], "chosen") == 0) {
      for (volatile int i = 0; i < 2; ++i) {
        const int user = i == 0;
        const unsigned id = user ? geteuid() : getegid();
        if ((user ? seteuid : setegid)(id) != 0) return 1;
      }
    } else {
      *(volatile Change*)&object.change = seteuid;
    }
    if ((*(volatile Change*)&object.change)(geteuid()) < 0) return 1;
  }
  puts("changed");
  return 0;
}
