// Boost's contexts and coroutines: exceptions that unwind a fibre's stack, and generators that are
// left early.
#include <boost/context/fiber.hpp>
#include <boost/coroutine2/all.hpp>
#include <iostream>
#include <stdexcept>
namespace ctx = boost::context;
using Pull = boost::coroutines2::coroutine<int>::pull_type;
using Push = boost::coroutines2::coroutine<int>::push_type;
static void walk(Push& out, int n) {
  if (n == 0) return;
  walk(out, n - 1);
  out(n);
  if (n == 7) throw std::runtime_error("seven");
  walk(out, n - 1);
}
int main() {
  int value = 0;
  ctx::fiber f([&](ctx::fiber&& back) {
    for (int i = 0; i < 5; ++i) {
      value += i;
      back = std::move(back).resume();
    }
    return std::move(back);
  });
  for (int i = 0; i < 6 && f; ++i) f = std::move(f).resume();
  std::cout << value << "\n";
  {
    ctx::fiber left([](ctx::fiber&& back) {
      struct Told {
        ~Told() { std::cout << "unwound\n"; }
      } told;
      return std::move(back).resume();
    });
    left = std::move(left).resume();
  }
  Pull four([](Push& out) { walk(out, 4); });
  int sum = 0;
  for (int n : four) sum += n;
  std::cout << sum << "\n";
  try {
    Pull seven([](Push& out) { walk(out, 7); });
    for (int n : seven) sum += n;
  } catch (const std::runtime_error& e) {
    std::cout << e.what() << " " << sum << "\n";
  }
  return 0;
}
