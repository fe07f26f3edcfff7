// Indirect branches: virtual calls, function pointers and a jump table.
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>

namespace {

struct Shape {
  virtual ~Shape() = default;
  virtual int area() const = 0;
};
struct Square final : Shape {
  explicit Square(int side) : side_(side) {}
  int area() const override { return side_ * side_; }
  int side_;
};
struct Strip final : Shape {
  explicit Strip(int length) : length_(length) {}
  int area() const override { return length_ * 2; }
  int length_;
};

int twice(int x) { return 2 * x; }
int plus_one(int x) { return x + 1; }
int negate(int x) { return -x; }
using Function = int (*)(int);

enum class Op : std::uint8_t { add, sub, mul, swap, dup, drop, negate, halt };

// Dense enough that the compiler makes a jump table of it.
[[gnu::noinline]] int interpret(const std::array<Op, 12>& program) {
  int a = 1;
  int b = 2;
  for (const Op op : program) {
    switch (op) {
      case Op::add:
        a += b;
        break;
      case Op::sub:
        a -= b;
        break;
      case Op::mul:
        a *= 3;
        break;
      case Op::swap: {
        const int t = a;
        a = b;
        b = t;
        break;
      }
      case Op::dup:
        b = a;
        break;
      case Op::drop:
        b = 0;
        break;
      case Op::negate:
        a = -a;
        break;
      case Op::halt:
        return a;
    }
  }
  return b;
}

}  // namespace

int main() {
  std::array<std::unique_ptr<Shape>, 6> shapes;
  for (int i = 0; i < 6; ++i) {
    if (i % 2 == 0) {
      shapes[i] = std::make_unique<Square>(i);
    } else {
      shapes[i] = std::make_unique<Strip>(i);
    }
  }
  volatile Function functions[] = {twice, plus_one, negate};
  int sum = 0;
  for (int round = 0; round < 20; ++round) {
    for (const auto& shape : shapes) sum += shape->area();
    sum += functions[round % 3](round);
    sum += interpret({Op::add, Op::mul, Op::dup, Op::swap, Op::sub, Op::negate, Op::add, Op::drop,
                      Op::mul, Op::swap, Op::add, Op::halt});
  }
  std::printf("sum %d\n", sum);
  return 0;
}
