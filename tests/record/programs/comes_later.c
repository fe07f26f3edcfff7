// Calls code in a file that is mapped further than it reaches, which fails, and again once the file
// has grown, a thousand times.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf back;
static void on_fault(int number) { siglongjmp(back, number); }

int main(void) {
  static const unsigned char bytes[4096] = {0xb8, 1, 0, 0, 0, 0xc3};  // MOV EAX, 1; RET
  signal(SIGBUS, on_fault);
  const int file = memfd_create("code", 0);
  int (*const function)(void) =
      mmap(NULL, sizeof(bytes), PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  volatile int sum = 0;
  if (sigsetjmp(back, 1) == 0) sum = function();
  if (write(file, bytes, sizeof(bytes)) < 0) return 1;
  for (int i = 0; i < 1000; ++i) sum += function();
  printf("%d\n", sum);
  return 0;
}
