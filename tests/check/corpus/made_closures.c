// Closures of libffcall, and functions that are called with arguments made at run time.
#include <avcall.h>
#include <callback.h>
#include <stdio.h>
#include <stdlib.h>

static void add(void* data, va_alist list) {
  va_start_int(list);
  int a = va_arg_int(list), b = va_arg_int(list);
  va_return_int(list, a + b + *(int*)data);
}
static int order(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

int main(void) {
  int more = 3, values[] = {5, 3, 9, 1}, sum = 0;
  callback_t closure = alloc_callback(&add, &more);
  av_alist call;
  for (int i = 0; i < 1000; ++i) sum += ((int (*)(int, int))closure)(i, 1);
  av_start_void(call, &qsort);
  av_ptr(call, void*, values);
  av_long(call, 4);
  av_long(call, sizeof *values);
  av_ptr(call, int (*)(const void*, const void*), order);
  av_call(call);
  free_callback(closure);
  printf("%d %d\n", sum, values[0]);
  return 0;
}
