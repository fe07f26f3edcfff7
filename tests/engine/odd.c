// What a code cache gets wrong first, each once or a few times: flags that live over calls, returns
// and indirect jumps; the two registers that the engine uses itself, in every place that an
// instruction can name them; returns that no call made; calls that never return; more open calls
// than a return stack has; LOOP and JRCXZ; RET n; data in the red zone. Prints a checksum of what
// came of it.
#include <stdint.h>
#include <stdio.h>

static uint64_t sum = 1469598103934665603u;

static void mix(uint64_t value) { sum = (sum ^ value) * 1099511628211u; }

__asm__(
    ".text\n"
    // Carry out of a function, by return.
    "carry_of_add: addq %rsi, %rdi; ret\n"
    // Carry through an indirect call and an indirect jump.
    "carry_on: jmp *%rdx\n"
    // A sum with carry over many words: LEA and DEC keep CF, the loop's edge must, too.
    "sum_words: clc\n"
    "1: movq (%rsi), %rax; adcq %rax, (%rdi); leaq 8(%rsi), %rsi; leaq 8(%rdi), %rdi; decq %rcx; jnz 1b\n"
    "  movl $0, %eax; setc %al; ret\n"
    "sum_words_by_jrcxz: clc\n"
    "1: movq (%rsi), %rax; adcq %rax, (%rdi); leaq 8(%rsi), %rsi; leaq 8(%rdi), %rdi; leaq -1(%rcx), %rcx\n"
    "  jrcxz 2f; jmp 1b\n"
    "2: movl $0, %eax; setc %al; ret\n"
    // Carry by a return that leads behind another place than the last call: behind that nothing
    // reads flags.
    "carry_elsewhere: leaq 2f(%rip), %rdx; movl $7, %eax; call 1f; xorl %eax, %eax; ret\n"
    "1: testq %rdi, %rdi; jz 3f; movq %rdx, (%rsp)\n"
    "3: stc; ret\n"
    "2: setc %al; ret\n"
    "take_off_stack: movq 8(%rsp), %rax; ret $16\n"
    "to_pushed: pushq %rdi; ret\n"
    "skip_caller: addq $8, %rsp; movl $7, %eax; ret\n"
    "calls_skip: call skip_caller; ud2\n"
    "where_am_i: call 1f; 1: popq %rax; leaq 1b(%rip), %rcx; subq %rcx, %rax; ret\n"
    "loops: xorl %eax, %eax; movl $100, %ecx; 1: addq %rcx, %rax; loop 1b; ret\n"
    "red_zone: movq %rdi, -8(%rsp); movq %rsi, -128(%rsp); cmpq %rdi, %rsi; ja 1f; incq -8(%rsp)\n"
    "1: movq -8(%rsp), %rax; addq -128(%rsp), %rax; ret\n"
    // R10 and R11 as everything.
    "registers: pushq %r10; pushq %r11; movq %rdi, %r10; movq %rsi, %r11\n"
    "  leaq 3(%r10, %r11, 2), %rax; addq %r11, %r10; xchgq %r10, %r11; imulq $5, %r10, %r10\n"
    "  pushq %r10; popq %r11; movq %r11, %r10; shldq $7, %r10, %r11; bswapq %r11; movzbl %r11b, %ecx\n"
    "  addq %rcx, %rax; subq $16, %rsp; movq %rsp, %r10; movq %rax, (%r10); addq $3, (%r10); movq (%r10), %r11\n"
    "  movl $8, %ecx; movq %r11, (%r10, %rcx); xorq 8(%r10), %rax; addq $16, %rsp\n"
    "  movq %r11, %xmm11; pxor %xmm10, %xmm10; paddq %xmm11, %xmm10; movq %xmm10, %r10; addq %r10, %rax\n"
    "  leaq tail_by_r11(%rip), %r11; jmp *%r11\n"
    "tail_by_r11: leaq leaf_by_r10(%rip), %r10; call *%r10; popq %r11; popq %r10; ret\n"
    "leaf_by_r10: addq $11, %rax; ret\n");

uint64_t take_off_stack_caller(uint64_t value);
__asm__("take_off_stack_caller: pushq $5; pushq %rdi; call take_off_stack; ret\n");
__asm__(".globl take_off_stack_caller\n");

static uint64_t carry_by_call(uint64_t a, uint64_t b) {
  uint64_t result;
  __asm__ volatile(
      "subq $128, %%rsp; call carry_of_add; movl $0, %%eax; setc %%al; leaq 128(%%rsp), %%rsp"
      : "=a"(result), "+D"(a), "+S"(b)::"cc", "memory");
  return result;
}

static uint64_t carry_by_jump(uint64_t a, uint64_t b) {
  uint64_t result;
  __asm__ volatile(
      "leaq 1f(%%rip), %%rdx; addq %3, %2; leaq carry_on(%%rip), %%rax; jmp *%%rax\n"
      "1: movl $0, %%eax; setc %%al"
      : "=&a"(result), "=&d"(b), "+D"(a)
      : "S"(b)
      : "cc");
  return result;
}

uint64_t sum_words(uint64_t* to, const uint64_t* from, uint64_t unused, uint64_t count);
uint64_t sum_words_by_jrcxz(uint64_t* to, const uint64_t* from, uint64_t unused, uint64_t count);
uint64_t calls_skip(void), where_am_i(void), loops(void), red_zone(uint64_t a, uint64_t b);
uint64_t carry_elsewhere(uint64_t elsewhere);
uint64_t registers(uint64_t a, uint64_t b), to_pushed(uint64_t (*function)(void));

static uint64_t seven(void) { return 7; }

static uint64_t __attribute__((noinline)) deep(uint64_t depth) {
  if (depth == 0) return 1;
  const uint64_t below = deep(depth - 1);
  return below * 3 + (below & 1 ? depth : 0);
}

int main(void) {
  for (uint64_t i = 0; i < 12; ++i) {
    mix(carry_by_call(~UINT64_C(0) - i, i * i % 7 * 100));
    mix(carry_by_jump(~UINT64_C(0) - i, i % 5 * 100));
    uint64_t to[64], from[64];
    for (unsigned w = 0; w < 64; ++w)
      to[w] = i * w * UINT64_C(0x123456789abcdef), from[w] = ~UINT64_C(0) / (w + 1);
    mix(sum_words(to, from, 0, 64) + to[63]);
    mix(sum_words_by_jrcxz(to, from, 0, 1 + i % 64) + to[i % 64]);
    mix(carry_elsewhere(i & 1));
    mix(take_off_stack_caller(i));
    mix(to_pushed(seven));
    mix(calls_skip());
    mix(where_am_i());
    mix(red_zone(i * 7 % 11, i));
    mix(registers(i, i * i));
  }
  mix(loops());
  for (uint64_t depth = 1; depth < 200; depth += 37) mix(deep(depth));
  printf("%016lx\n", sum);
  return (int)(sum & 63);
}
