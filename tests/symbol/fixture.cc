// Code that the symbol tests look at. The #line directives make the positions part of the source.
#include <cstdio>
#include <cstdlib>

namespace fixture {

#line 100 "inner.h"
__attribute__((always_inline)) inline int inner(int x) {
  return std::getenv("HODO_NOTHING") != nullptr ? x : x * 3;
}

#line 200 "outer.cc"
__attribute__((noinline)) int outer(int x) {
  const int y = inner(x);
  std::puts("outer");
  return y + 1;
}

template <class T>
struct Box {
  __attribute__((noinline)) T get(T a) const { return a + static_cast<T>(std::puts("box")); }
};
template struct Box<long>;

}  // namespace fixture

extern "C" {

// Five names for the same code.
__attribute__((noinline)) int __fixture_write(int x) { return x + std::puts("write"); }
int fixture_write(int x) __attribute__((weak, alias("__fixture_write")));
int fixture_write_strong(int x) __attribute__((alias("__fixture_write")));
int _fixture_write(int x) __attribute__((alias("__fixture_write")));
static int fixture_local(int x) __attribute__((used, alias("__fixture_write")));

static int chosen(int x) { return x; }
using Chosen = int (*)(int);
// Not static: clang mangles the name of a static one, so that ifunc does not find it.
__attribute__((visibility("hidden"))) Chosen choose() { return chosen; }
int fixture_ifunc(int x) __attribute__((ifunc("choose")));

int fixture_calls(int x) { return fixture_ifunc(x) + fixture::outer(x) + fixture_write(x); }
}

// A function with a mark inside and a label without type or size behind it.
asm(R"(
  .text
  .globl fixture_marked
  .type fixture_marked, @function
fixture_marked:
  nop
  nop
fixture_mark:
  nop
  ret
  .size fixture_marked, . - fixture_marked
  .p2align 4
fixture_label:
  nop
  nop
  ret
  .p2align 4
  .globl fixture_after
  .type fixture_after, @function
fixture_after:
  ret
  .size fixture_after, . - fixture_after
)");
