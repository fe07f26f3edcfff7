// Functions that Xbyak makes, which is a header: the program's own file makes them.
#include <xbyak/xbyak.h>

#include <cstdio>
#include <cstdlib>

struct Multiplied : Xbyak::CodeGenerator {
  explicit Multiplied(int by) {
    push(rbx);
    mov(ebx, edi);
    L("again");
    imul(ebx, ebx, by);
    dec(esi);
    jnz("again");
    mov(rax, reinterpret_cast<std::size_t>(static_cast<int (*)(int)>(&std::abs)));
    mov(edi, ebx);
    call(rax);
    pop(rbx);
    ret();
  }
};

struct Growing : Xbyak::CodeGenerator {
  Growing() : Xbyak::CodeGenerator(4096, Xbyak::AutoGrow) {
    mov(eax, 3);
    for (int i = 0; i < 3000; ++i) add(eax, i);
    jmp("end", T_NEAR);
    nop();
    L("end");
    ret();
    ready();
  }
};

int main() {
  int sum = 0;
  for (int i = 1; i < 9; ++i) sum += Multiplied(-i).getCode<int (*)(int, int)>()(i, 3);
  std::printf("%d\n", sum + Growing().getCode<int (*)()>()());
}
