// Two libraries loaded and unloaded in turn, so that one address may hold the code of either.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#ifdef __i386__
static const char kFirst[] = "libloaded_a_32.so", kSecond[] = "libloaded_b_32.so";
#else
static const char kFirst[] = "libloaded_a.so", kSecond[] = "libloaded_b.so";
#endif

static int call(const char* directory, const char* library) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, library);
  void* handle = dlopen(path, RTLD_NOW);
  if (handle == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return -1000;
  }
  int (*value)(int) = (int (*)(int))dlsym(handle, "value");
  const int result = value == NULL ? -1000 : value(3);
  dlclose(handle);
  return result;
}

int main(int argc, char** argv) {
  (void)argc;
  char directory[3000];
  snprintf(directory, sizeof directory, "%s", argv[0]);
  char* slash = strrchr(directory, '/');
  if (slash == NULL) return 1;
  *slash = '\0';
  int sum = 0;
  for (int i = 0; i < 6; ++i) sum += call(directory, i % 2 == 0 ? kFirst : kSecond);
  printf("sum %d\n", sum);
  return sum < 0;
}
