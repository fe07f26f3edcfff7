// C++20 coroutines, exceptions through them, virtual bases, thread_local, std::function, futures.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>
struct Gen {
  struct promise_type {
    int v = 0;
    std::exception_ptr e;
    Gen get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int x) {
      v = x;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { e = std::current_exception(); }
  };
  std::coroutine_handle<promise_type> h;
  bool next() {
    h.resume();
    if (h.promise().e) std::rethrow_exception(std::exchange(h.promise().e, nullptr));
    return !h.done();
  }
};
Gen count(int n) {
  for (int i = 0; i < n; ++i) co_yield i;
  throw std::runtime_error("end");
}
struct A {
  virtual ~A() = default;
  virtual int f() { return 1; }
};
struct B : virtual A {
  int f() override { return 2; }
};
struct C : virtual A {
  int g = 3;
};
struct D : B, C {
  int f() override { return B::f() + g; }
};
thread_local std::vector<int> local{1, 2, 3};
int deep(int n) {
  if (n == 0) throw n;
  struct G {
    ~G() {
      try {
        throw 1.0;
      } catch (double) {
      }
    }
  } g;
  return deep(n - 1) + 1;
}
int main() {
  Gen g = count(3);
  try {
    while (g.next()) std::printf("%d\n", g.h.promise().v);
  } catch (const std::exception& e) {
    std::puts(e.what());
  }
  g.h.destroy();
  std::unique_ptr<A> a = std::make_unique<D>();
  std::printf("%d\n", a->f());
  int (A::*pm)() = &A::f;
  std::printf("%d\n", (a.get()->*pm)());
  for (int i = 0; i < 10; ++i) try {
      deep(i);
    } catch (int) {
    }
  auto f = std::async(std::launch::async, [] {
    local.push_back(4);
    if (local.size() == 4) throw std::logic_error("in");
    return 1;
  });
  try {
    f.get();
  } catch (const std::logic_error& e) {
    std::puts(e.what());
  }
  std::function<int(int)> fib = [&](int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); };
  std::printf("%d\n", fib(10));
  std::set_terminate([] {
    std::puts("terminate");
    std::_Exit(0);
  });
  std::thread([] { throw 1; }).join();
}
