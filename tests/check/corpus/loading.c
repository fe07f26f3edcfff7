// A library that is loaded, with constructors, an IFUNC, thread-local storage and a callback, and
// that loads itself again.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef LIBRARY
static int values;
__attribute__((constructor)) static void begin(void) { values = 3; }
__attribute__((destructor)) static void end(void) { values = 0; }
static __thread int local = 5;
static int one(void) { return 1 + local; }
#ifndef NO_IFUNC
static int two(void) { return 2; }
static int (*choose(void))(void) { return getenv("NEVER") ? two : one; }
int chosen(void) __attribute__((ifunc("choose")));
#else
int chosen(void) { return one(); }
#endif
int apply(int (*f)(int), int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += f(i) + chosen();
  return sum + values;
}
#else
static int square(int n) { return n * n; }
int main(void) {
  for (int i = 0; i < 3; ++i) {
    void* library = dlopen("./library.so", i == 1 ? RTLD_NOW : RTLD_LAZY);
    if (library == 0) return puts(dlerror()), 1;
    int (*apply)(int (*)(int), int) = (int (*)(int (*)(int), int))dlsym(library, "apply");
    printf("%d\n", apply(square, 4 + i));
    dlclose(library);
  }
  double (*cosine)(double) = (double (*)(double))dlsym(dlopen("libm.so.6", RTLD_LAZY), "cos");
  return cosine != 0 && cosine(0) != 1;
}
#endif
