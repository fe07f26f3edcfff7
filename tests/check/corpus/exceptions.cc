// Exceptions through callbacks of C, destructors, constructors, threads and signal handlers; nested
// and kept ones; virtual inheritance with thunks; pointers to members; a terminate handler that
// leaves by longjmp.
#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <variant>
#include <vector>
struct Base {
  virtual ~Base() noexcept(false) = default;
  virtual Base* copy() const { return new Base(*this); }
  virtual std::string name() const { return "base"; }
};
struct Left : virtual Base {
  Left* copy() const override { return new Left(*this); }
};
struct Right : virtual Base {
  std::string name() const override { return "right"; }
};
struct Both : Left, Right {
  Both* copy() const override { return new Both(*this); }
};
struct Throws {
  explicit Throws(int n) : member(n) {
    if (n == 2) throw std::invalid_argument("two");
  }
  ~Throws() { --member; }
  int member;
};
static int compare(const void* a, const void* b) {
  if (*static_cast<const int*>(a) == 3) throw std::runtime_error("through qsort");
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
static void nested(int n) {
  try {
    if (n == 0) throw std::runtime_error("inner");
    nested(n - 1);
  } catch (...) {
    std::throw_with_nested(std::logic_error("level " + std::to_string(n)));
  }
}
static void print(const std::exception& e) {
  std::puts(e.what());
  try {
    std::rethrow_if_nested(e);
  } catch (const std::exception& inner) {
    print(inner);
  }
}
[[maybe_unused]] static void trap(int number) { throw number; }
static std::jmp_buf out;
[[noreturn]] static void terminated() { std::longjmp(out, 1); }
static void never() noexcept { throw 1; }
[[maybe_unused]] static int divide(volatile int a, volatile int b) { return a / b; }
int main() {
  int list[] = {5, 4, 3, 2, 1};
  try {
    std::qsort(list, 5, sizeof(int), compare);
  } catch (const std::exception& e) {
    std::puts(e.what());
  }
  try {
    std::vector<Throws> all;
    for (int i = 0; i < 4; ++i) all.emplace_back(i);
  } catch (const std::invalid_argument& e) {
    std::puts(e.what());
  }
  try {
    nested(3);
  } catch (const std::exception& e) {
    print(e);
  }
  std::exception_ptr kept;
  std::thread([&] {
    try {
      throw std::string("from a thread");
    } catch (...) {
      kept = std::current_exception();
    }
  }).join();
  try {
    std::rethrow_exception(kept);
  } catch (const std::string& s) {
    std::puts(s.c_str());
  }
#ifndef NO_TRAPS
  std::signal(SIGFPE, trap);
  try {
    std::printf("%d\n", divide(1, 0));
  } catch (int number) {
    std::printf("signal %d\n", number);
  }
#endif
  const std::unique_ptr<Base> b(new Both);
  const std::unique_ptr<Base> c(b->copy());
  std::string (Base::*member)() const = &Base::name;
  std::printf("%s %s\n", ((*c).*member)().c_str(), dynamic_cast<Left*>(c.get()) ? "left" : "not");
  try {
    (void)std::get<1>(std::variant<int, double>(1));
  } catch (const std::bad_variant_access& e) {
    std::puts(e.what());
  }
  std::set_terminate(terminated);
  if (setjmp(out) == 0) never();
  std::function<int(int)> fib = [&](int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); };
  std::printf("%d\n", fib(10));
  return 0;
}
