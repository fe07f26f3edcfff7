// A file that is opened (dlopen) and what it depends on share an inline function: the dynamic
// linker takes that of the file.
#include <cstdio>

struct Shared {
  long count = 0;
  [[gnu::noinline]] long next(long by) { return count += by; }
};

#if defined(DEPENDENCY)
long run(Shared& shared) { return shared.next(2) + shared.next(3); }
#elif defined(OPENED)
long run(Shared& shared);
extern "C" void opened() {
  Shared shared;
  std::printf("%ld %ld\n", shared.next(1), run(shared));
}
#else
#include <dlfcn.h>
int main() {
  void* const file = dlopen("./libopened.so", RTLD_NOW);
  if (file == nullptr) return 1;
  reinterpret_cast<void (*)()>(dlsym(file, "opened"))();
}
#endif
