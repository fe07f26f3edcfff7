// A library whose constructor loads another one, before the program begins: -DLOADS, -DLOADED, and
// the program.
#ifdef LOADS
#include <dlfcn.h>
int sum;
__attribute__((constructor)) static void begin(void) {
  void* other = dlopen("./loaded.so", RTLD_NOW);
  int (*add)(int) = other ? (int (*)(int))dlsym(other, "add") : 0;
  if (add) sum = add(3);
}
#elif defined LOADED
__attribute__((constructor)) static void begin(void) { __asm__ volatile(""); }
int add(int x) { return x + 1; }
#else
#include <stdio.h>
extern int sum;
int main(void) { printf("%d\n", sum); }
#endif
