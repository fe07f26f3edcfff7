// Calls of other files' functions, also of sensitive ones, as an auditing library (audits.c) sees
// them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

int main(void) {
  int numbers[] = {5, 3, 1, 2, 4};
  qsort(numbers, 5, sizeof *numbers, compare);
  printf("%d %f %s %d\n", numbers[0], strtod("1.5", NULL), strchr("abc", 'b'), getppid() != 0);
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) execlp("true", "true", (char*)NULL);
  return waitpid(child, NULL, 0) != child;
}
