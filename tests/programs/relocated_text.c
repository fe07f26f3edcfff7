// Test fixture: code that the dynamic linker writes addresses into when it loads the program
// (DT_TEXTREL), as code has that was not made to be moved.
#include <stdio.h>

int chosen(int value) { return value * 2; }
int by_address(int value);

__asm__(
    ".text\n"
    ".type by_address, @function\n"
    ".globl by_address\n"
    "by_address: movabs $chosen, %rax\n"
    "    jmp *%rax\n"
    ".size by_address, .-by_address\n");

int main(void) {
  printf("%d\n", by_address(21));
  return 0;
}
