// Test fixture, to be preloaded: hides directory entries called "hidden" from this one program.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <string.h>

struct dirent* readdir(DIR* directory) {
  static struct dirent* (*next)(DIR*);
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "readdir");
  struct dirent* entry = next(directory);
  while (entry != NULL && strcmp(entry->d_name, "hidden") == 0) entry = next(directory);
  return entry;
}
