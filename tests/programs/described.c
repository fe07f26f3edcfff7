// Test fixture: a library with a thread's variable that is found by a descriptor (TLSDESC), and
// where that lies.
__thread int kept = 7;

void* descriptor_of_kept(void) {
  void* out;
  __asm__("lea kept@TLSDESC(%%rip), %0" : "=a"(out));
  return out;
}

// As with -mtls-dialect=gnu2, which not all compilers know.
int read_kept(void) {
  long distance;
  __asm__ volatile(
      "lea kept@TLSDESC(%%rip), %%rax\n"
      "call *kept@TLSCALL(%%rax)"
      : "=a"(distance)
      :
      : "cc", "memory");
  int out;
  __asm__("mov %%fs:(%1), %0" : "=r"(out) : "r"(distance));
  return out;
}
