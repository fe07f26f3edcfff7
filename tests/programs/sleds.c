// Test fixture: a function with a sled of XRay, which the file lists and the program patches, as
// clang's runtime does: to call a function of its own, or what its argument says.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int sled(int value);
void seen(void);

// A sled at the function's start, and its entry in the table.
__asm__(
    ".text\n"
    ".type seen, @function\n"
    "seen: nop\n"
    "    ret\n"
    ".size seen, .-seen\n"
    ".type sled, @function\n"
    "sled:\n"
    "    .byte 0xeb, 9\n"
    "    .byte 0x66, 0x0f, 0x1f, 0x84, 0, 0, 2, 0, 0\n"
    "    lea (%rdi, %rdi), %eax\n"
    "    ret\n"
    ".size sled, .-sled\n"
    ".section xray_instr_map, \"a\"\n"
    "1:  .quad sled - 1b, sled - 1b\n"
    "    .byte 0, 1, 2\n"
    "    .skip 13\n"
    ".text\n");

static void patch(const void* target, unsigned char branch) {
  unsigned char code[11] = {0x41, 0xba, 1, 0, 0, 0, branch};  // mov r10d, 1; call TARGET
  const int32_t distance = (int32_t)((uintptr_t)target - ((uintptr_t)&sled + sizeof code));
  memcpy(code + 7, &distance, sizeof distance);
  unsigned char* page = (unsigned char*)((uintptr_t)&sled & ~(uintptr_t)4095);
  mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
  memcpy((void*)&sled, code, sizeof code);
  mprotect(page, 8192, PROT_READ | PROT_EXEC);
}

int main(int argc, char** argv) {
  const char* form = argc == 2 ? argv[1] : "";
  int (*volatile function)(int) = sled;
  int before = function(20);
  if (strcmp(form, "patched") == 0) patch((const void*)&seen, 0xe8);
  if (strcmp(form, "hooked-inside") == 0) patch((const char*)&seen + 1, 0xe8);
  // Where the file has the rest of the function, nothing is to be patched.
  if (strcmp(form, "hooked-behind") == 0) {
    patch((const void*)&seen, 0xe8);
    unsigned char* page = (unsigned char*)((uintptr_t)&sled & ~(uintptr_t)4095);
    mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
    memcpy((char*)&sled + 11, "\x31\xc0\xc3", 3);  // xor eax, eax; ret
    mprotect(page, 8192, PROT_READ | PROT_EXEC);
  }
  printf("%d\n", before + function(1));
  return 0;
}
