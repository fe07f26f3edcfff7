// Executes the program that its arguments name.
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  puts("executing");
  fflush(stdout);
  execv(argv[1], argv + 1);
  perror(argv[1]);
  return 1;
}
