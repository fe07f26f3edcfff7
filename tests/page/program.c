// What the page's tests look at: forty requests of which the eighteenth is slow, names that would
// be markup or reach beyond their place if somebody let them, and, with an argument, a crash; with
// two, before that a call into the middle of a function.
#include <stdio.h>
#include <stdlib.h>

#define NAMED(name)                                                                           \
  ".globl \"" name "\"\n.type \"" name "\", @function\n\"" name "\": nop\nret\n.size \"" name \
  "\", 2\n"
__asm__(".text\n" NAMED("<script>document.title='taken'</script>")
            NAMED("<img src=x onerror=document.title='taken'>") NAMED("left\xe2\x80\xaethgir")
                NAMED("escape\x1b[31mred"));
// A name of 12,288 signs, as templates have them.
#define FOUR(text) text text text text
#define LONG FOUR(FOUR(FOUR(FOUR(FOUR("long_name_ab")))))
__asm__(NAMED(LONG));

static int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

static int work(int n) {
  int values[60];
  for (int i = 0; i < 60; i++) {
    values[i] = (i * 7919 + n) % 997;
  }
  qsort(values, 60, sizeof *values, compare);
  return values[0];
}

static int slow(int n) {
  int sum = 0;
  for (int i = 0; i < 30; i++) {
    sum += work(n + i);
  }
  return sum;
}

__attribute__((noinline)) static int handle(int id) {
  if (id == 17) {
    return slow(id);
  }
  return work(id);
}

struct item {
  struct item* next;
  int value;
};

__attribute__((noinline)) static int total(const struct item* item) {
  int sum = 0;
  while (item) {
    sum += item->value;
    item = item->next;
  }
  return sum;
}

__asm__(".globl middle\n.type middle, @function\nmiddle: nop\nnop\nret\n.size middle, 3\n");
extern void middle(void);

static void call_strange(void) {
  __asm__ volatile(
      "call \"<script>document.title='taken'</script>\"\n"
      "call \"<img src=x onerror=document.title='taken'>\"\n"
      "call \"left\xe2\x80\xaethgir\"\n"
      "call \"escape\x1b[31mred\"\n"
      "call \"" LONG "\"\n" ::
          : "memory");
}

int main(int argc, char** argv) {
  (void)argv;
  int sum = 0;
  call_strange();
  for (int i = 0; i < 40; i++) {
    sum += handle(i);
  }
  if (argc > 2) {  // to where no function begins
    const volatile size_t within = 1;
    ((void (*)(void))((char*)middle + within))();
  }
  struct item last = {NULL, 3}, first = {&last, 4};
  sum += total(&first);
  if (argc > 1) {
    last.next = (struct item*)16;
    sum += total(&first);
  }
  return sum == 1;
}
