// Stacks of Boost's, each begun by the one before and all left in one function, that end in turn.
#include <boost/context/detail/fcontext.hpp>
#include <cstdio>

namespace context = boost::context::detail;

namespace {

constexpr int kCount = 4;
constexpr std::size_t kStack = 64 << 10;

alignas(16) char stacks[kCount][kStack];
context::fcontext_t left[kCount + 1];  // the last is main()'s
int from, done[kCount];

// Where all are left.
[[gnu::noinline]] void switch_to(int next, int self) {
  from = self;
  const context::transfer_t back = context::jump_fcontext(left[next], nullptr);
  left[from] = back.fctx;
}

[[gnu::noinline]] void wait_for_a_turn(int self) {
  switch_to(kCount, self);
  ++done[self];
}

[[gnu::noinline]] void wait_twice(int self) {
  wait_for_a_turn(self);
  wait_for_a_turn(self);
}

void begin(context::transfer_t back) {
  left[from] = back.fctx;
  const int self = from == kCount ? 0 : from + 1;
  if (self + 1 < kCount) {
    switch_to(self + 1, self);
  } else {
    switch_to(kCount, self);
  }
  for (;;) {
    wait_for_a_turn(self);
    wait_twice(self);
  }
}

}  // namespace

int main() {
  for (int i = 0; i < kCount; ++i)
    left[i] = context::make_fcontext(stacks[i] + kStack, kStack, begin);
  for (int round = 0; round < 20; ++round) {
    switch_to(round == 0 ? 0 : round * 7 % kCount, kCount);
  }
  int all = 0;
  for (const int each : done) all += each;
  std::printf("%d\n", all);
}
