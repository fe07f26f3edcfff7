// Test fixture, for the large code model: sets its user to what it is, "named" by the function's
// name, "pointer" through one of an object that was overwritten with the address of the function's
// stub, in a function that also calls it by its name.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int (*Change)(unsigned);

static int keep(unsigned id) { return (int)id; }

static struct {
  char name[16];
  Change change;
} object = {"keep", keep};

static Change stub(void) {
  Change out;
  unsigned long far;
  __asm__(
      "1: lea 1b(%%rip), %0\n\t"
      "movabs $_GLOBAL_OFFSET_TABLE_-1b, %1\n\t"
      "add %1, %0\n\t"
      "movabs $setuid@PLTOFF, %1\n\t"
      "add %1, %0"
      : "=&r"(out), "=&r"(far));
  return out;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const unsigned id = getuid();
  if (strcmp(argv[1], "named") == 0) {
    if (setuid(id) != 0) return 1;
  } else {
    *(volatile Change*)&object.change = stub();
    if ((*(volatile Change*)&object.change)(id) != 0) return 1;
  }
  puts("changed");
  return 0;
}
