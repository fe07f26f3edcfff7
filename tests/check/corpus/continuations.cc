#include <boost/context/continuation.hpp>
#include <cstdio>
#include <stdexcept>
namespace ctx = boost::context;
int main() {
  int sum = 0;
  ctx::continuation source = ctx::callcc([&](ctx::continuation&& sink) {
    int a = 0, b = 1;
    for (int i = 0; i < 10; ++i) {
      sum += a;
      try {
        if (i == 5) throw std::runtime_error("five");
      } catch (const std::exception& e) {
        sum += e.what()[0];
      }
      sink = sink.resume();
      const int next = a + b;
      a = b;
      b = next;
    }
    return std::move(sink);
  });
  while (source) source = source.resume();
  std::printf("%d\n", sum);
}
