// A thread loads a library while the thread that began has done little.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void* load(void* path) { return dlopen(path, RTLD_NOW); }

int main(int argc, char** argv) {
  (void)argc;
  char path[3000];
  snprintf(path, sizeof path - 20, "%s", argv[0]);
  char* slash = strrchr(path, '/');
  if (slash == NULL) return 1;
  strcpy(slash + 1, "libloaded_a.so");
  pthread_t thread;
  void* handle = NULL;
  if (pthread_create(&thread, NULL, load, path) != 0) return 1;
  pthread_join(thread, &handle);
  puts(handle != NULL ? "loaded" : dlerror());
  return handle == NULL;
}
