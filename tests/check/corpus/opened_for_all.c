// A file that is opened takes a function from another one that was opened for all before
// (RTLD_GLOBAL), and does not say so: plugins of plugins.
#include <dlfcn.h>
#include <stdio.h>

#if defined(FIRST)
int given(int n) { return n + 1; }
#elif defined(SECOND)
int given(int n);
int opened(int n) { return given(n) + given(n); }
#else
int main(void) {
  if (dlopen("./libfirst.so", RTLD_NOW | RTLD_GLOBAL) == NULL) return 1;
  void* const second = dlopen("./libsecond.so", RTLD_LAZY);
  if (second == NULL) return 1;
  printf("%d\n", ((int (*)(int))dlsym(second, "opened"))(1));
  return 0;
}
#endif
