// copies FIRST SECOND: opens FIRST for all (RTLD_GLOBAL), then SECOND, whose call of given() leads
// to FIRST's: each has one, as files of C++ have a copy of each inline function that they use.
// FIRST's, too, is a weak symbol if built with GIVEN=weak.
#include <dlfcn.h>
#include <stdio.h>

#if defined(GIVEN)
__attribute__((noipa, GIVEN)) int given(int n) { return n + 1; }
#elif defined(OPENED)
__attribute__((noipa, weak)) int given(int n) { return n + 2; }
int opened(int n) { return given(n) + given(n); }
#else
int main(int argc, char** argv) {
  if (argc != 3 || dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) == NULL) return 1;
  void* const second = dlopen(argv[2], RTLD_LAZY);
  if (second == NULL) return 1;
  printf("%d\n", ((int (*)(int))dlsym(second, "opened"))(1));
  return 0;
}
#endif
