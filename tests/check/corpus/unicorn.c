// Unicorn: an emulator in a library, with a hook that is called for each instruction.
#include <stdio.h>
#include <unicorn/unicorn.h>

static int steps;
static void step(uc_engine* uc, uint64_t address, uint32_t size, void* data) {
  (void)uc, (void)address, (void)size, (void)data;
  ++steps;
}

int main(void) {
  // mov ecx, 1000; 1: add eax, ecx; dec ecx; jnz 1b
  static const unsigned char code[] = {0xb9, 0xe8, 3, 0, 0, 0x01, 0xc8, 0xff, 0xc9, 0x75, 0xfa};
  uc_engine* uc = NULL;
  uc_hook hook;
  int sum = 0;
  if (uc_open(UC_ARCH_X86, UC_MODE_64, &uc) != UC_ERR_OK) return 1;
  uc_mem_map(uc, 0x1000, 0x1000, UC_PROT_ALL);
  uc_mem_write(uc, 0x1000, code, sizeof code);
  uc_hook_add(uc, &hook, UC_HOOK_CODE, (void*)step, NULL, 1, 0);
  uc_emu_start(uc, 0x1000, 0x1000 + sizeof code, 0, 0);
  uc_reg_read(uc, UC_X86_REG_EAX, &sum);
  uc_close(uc);
  printf("%d %d\n", sum, steps);
  return 0;
}
