// Far branches within the code segment of 64-bit programs.
#include <stdio.h>

struct __attribute__((packed)) FarPointer {
  unsigned address;  // the program is linked where this is enough
  unsigned short segment;
};

void call_far(const struct FarPointer* to), jump_far(const struct FarPointer* to);
void return_far(void), return_near(void);
asm(".text\n"
    ".type call_far, @function\n"
    "call_far:\n"
    "subq $8, %rsp\n"
    "lcall *(%rdi)\n"
    "addq $8, %rsp\n"
    "ret\n"
    ".size call_far, .-call_far\n"
    ".type jump_far, @function\n"
    "jump_far:\n"
    "ljmp *(%rdi)\n"
    ".size jump_far, .-jump_far\n"
    ".type return_far, @function\n"
    "return_far:\n"
    "lret\n"
    ".size return_far, .-return_far\n"
    ".type return_near, @function\n"
    "return_near:\n"
    "ret\n"
    ".size return_near, .-return_near\n");

static struct FarPointer to(void (*function)(void)) {
  unsigned short segment;
  asm("mov %%cs, %0" : "=r"(segment));
  return (struct FarPointer){(unsigned)(unsigned long)function, segment};
}

int main(void) {
  const struct FarPointer far = to(return_far), near = to(return_near);
  for (int i = 0; i < 3; ++i) {
    call_far(&far);
    jump_far(&near);
  }
  puts("back");
  return 0;
}
