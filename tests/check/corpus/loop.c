// libuv: timers, threads of its own, processes, signals, callbacks of all of them
#include <stdio.h>
#include <uv.h>
static int n;
static void tick(uv_timer_t* t) {
  if (++n == 3) uv_timer_stop(t);
}
static void work(uv_work_t* w) { *(int*)w->data = 42; }
static void after(uv_work_t* w, int s) { printf("%d\n", *(int*)w->data); }
static void gone(uv_process_t* p, int64_t status, int sig) {
  printf("%d\n", (int)status);
  uv_close((uv_handle_t*)p, 0);
}
static void on_signal(uv_signal_t* s, int k) {
  printf("signal\n");
  uv_signal_stop(s);
  uv_close((uv_handle_t*)s, 0);
}
int main(void) {
  uv_loop_t* l = uv_default_loop();
  uv_timer_t t;
  uv_work_t w;
  int v = 0;
  uv_process_t p;
  uv_signal_t s;
  uv_timer_init(l, &t);
  uv_timer_start(&t, tick, 1, 1);
  w.data = &v;
  uv_queue_work(l, &w, work, after);
  char* args[] = {"sh", "-c", "exit 3", 0};
  uv_process_options_t o = {.exit_cb = gone, .file = "sh", .args = args};
  uv_spawn(l, &p, &o);
  uv_signal_init(l, &s);
  uv_signal_start(&s, on_signal, SIGUSR1);
  raise(SIGUSR1);
  uv_run(l, UV_RUN_DEFAULT);
  printf("%d\n", n);
  return 0;
}
