// Ignores SIGINT, says so, and counts the lines of its standard input until it ends.
#include <signal.h>
#include <stdio.h>

int main(void) {
  signal(SIGINT, SIG_IGN);
  puts("ready");
  fflush(stdout);
  int lines = 0;
  for (int c; (c = getchar()) != EOF;) lines += c == '\n';
  printf("%d lines\n", lines);
  return 0;
}
