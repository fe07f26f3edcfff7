// Exceptions through frames of C: qsort, bsearch, pthread_once; with a cleanup and rethrown.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
static int order(const void* a, const void* b) {
  if (*(const int*)a == 7) throw std::runtime_error("seven");
  return *(const int*)a - *(const int*)b;
}
static std::exception_ptr kept;
int main() {
  int values[] = {5, 7, 3, 1}, sum = 0;
  for (int i = 0; i < 10; ++i) {
    try {
      std::qsort(values, 4, sizeof *values, order);
    } catch (const std::exception& e) {
      sum += e.what()[0];
      kept = std::current_exception();
    }
    try {
      if (kept) std::rethrow_exception(kept);
    } catch (...) {
      ++sum;
    }
    try {
      struct D {
        int* n;
        ~D() { ++*n; }
      } d{&sum};
      int key = 7;
      std::bsearch(&key, values, 4, sizeof *values, order);
    } catch (...) {
      ++sum;
    }
  }
  std::set_terminate([] {
    std::puts("terminated");
    std::_Exit(0);
  });
  std::printf("%d\n", sum);
  throw 1;
}
