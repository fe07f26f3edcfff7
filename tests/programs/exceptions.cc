// C++ exceptions: the unwinder leaves frames without their returns.
#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

struct Guard {
  explicit Guard(int& counter) : counter_(counter) {}
  ~Guard() { ++counter_; }
  int& counter_;
};

[[gnu::noinline]] int descend(int depth, int& unwound) {
  Guard guard(unwound);
  if (depth == 0) throw std::out_of_range("bottom");
  return descend(depth - 1, unwound) + 1;
}

[[gnu::noinline]] int rethrow(int depth, int& unwound) {
  try {
    return descend(depth, unwound);
  } catch (const std::out_of_range& error) {
    throw std::runtime_error(std::string("again: ") + error.what());
  }
}

}  // namespace

int main() {
  int caught = 0;
  int unwound = 0;
  for (int i = 0; i < 20; ++i) {
    try {
      rethrow(i % 5, unwound);
    } catch (const std::exception&) {
      ++caught;
    }
  }
  std::printf("caught %d unwound %d\n", caught, unwound);
  return 0;
}
