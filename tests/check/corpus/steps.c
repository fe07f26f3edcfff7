// libunwind: a stack that is walked, a frame that is gone on with (unw_resume), from a handler, too
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
static int skipped;
static __attribute__((noinline)) void resume_in(const char* name) {
  unw_context_t context;
  unw_cursor_t cursor;
  char found[64];
  unw_word_t off;
  unw_getcontext(&context);
  unw_init_local(&cursor, &context);
  while (unw_step(&cursor) > 0) {
    if (unw_get_proc_name(&cursor, found, sizeof found, &off) == 0 && strcmp(found, name) == 0)
      break;
    skipped++;
  }
  unw_set_reg(&cursor, UNW_X86_64_RAX, 42);
  unw_resume(&cursor);
}
static __attribute__((noinline)) int deep(int n) {
  if (n == 0) resume_in("begin");
  volatile int r = deep(n - 1) + 1;
  return r;
}
__attribute__((noinline)) int begin(int n) {
  volatile int r = deep(n);
  return r;
}
static void handler(int s) {
  unw_context_t c;
  unw_cursor_t u;
  unw_getcontext(&c);
  unw_init_local(&u, &c);
  int n = 0;
  while (unw_step(&u) > 0) n++;
  printf("%d\n", n > 1);
}
int main(void) {
  for (int i = 1; i < 5; i++) printf("%d\n", begin(i * 3));
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  printf("%d\n", skipped > 0);
  return 0;
}
