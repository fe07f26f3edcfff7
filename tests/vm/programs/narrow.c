// A 32-bit program without a C library: some branches, and exit(7).
void _start(void) {
  for (volatile int i = 0; i < 1000; ++i) continue;
  __asm__ volatile("int $0x80" : : "a"(1), "b"(7));
}
