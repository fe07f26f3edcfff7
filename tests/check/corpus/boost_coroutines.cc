// Boost's coroutines, asymmetric ones that throw and symmetric ones that call each other.
#include <boost/coroutine/all.hpp>
#include <cstdio>
#include <stdexcept>

using Pull = boost::coroutines::asymmetric_coroutine<int>::pull_type;
using Push = boost::coroutines::asymmetric_coroutine<int>::push_type;
using Symmetric = boost::coroutines::symmetric_coroutine<int>;

int main() {
  int sum = 0;
  Pull numbers([](Push& out) {
    for (int i = 0; i < 9; ++i) out(i);
    throw std::runtime_error("the end");
  });
  try {
    while (numbers) {
      sum += numbers.get();
      numbers();
    }
  } catch (const std::runtime_error&) {
    sum += 50;
  }
  Symmetric::call_type taker([&](Symmetric::yield_type& yield) {
    for (;;) {
      sum += yield.get();
      yield();
    }
  });
  Symmetric::call_type giver([&](Symmetric::yield_type& yield) {
    for (int i = 0; i < 4; ++i) yield(taker, i);
  });
  for (int i = 0; i < 3; ++i) giver(i);
  std::printf("%d\n", sum);
}
