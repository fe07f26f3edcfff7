// State Threads: many of them, in turn, by sleep, condition and end.
#include <st.h>
#include <stdio.h>

static st_cond_t turn;
static int sum;
static void* work(void* number) {
  for (int i = 0; i < 20; ++i) {
    sum += *(int*)number;
    st_usleep(i % 3);
    st_cond_signal(turn);
  }
  return number;
}

int main(void) {
  st_init();
  turn = st_cond_new();
  int numbers[8];
  st_thread_t threads[8];
  for (int i = 0; i < 8; ++i) {
    numbers[i] = i;
    threads[i] = st_thread_create(work, &numbers[i], 1, 0);
  }
  for (int i = 0; i < 10; ++i) st_cond_wait(turn);
  for (int i = 0; i < 8; ++i) st_thread_join(threads[i], NULL);
  printf("%d\n", sum);
  return 0;
}
