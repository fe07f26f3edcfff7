// Calls in code that is made at run time and has no name: a recursion, a call back into the
// program, and a longjmp to where a call has returned before. That leads into code without a name,
// as a tail call would.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

// int recursion(int n): the n-th Fibonacci number.
// int again(int (*first)(void*), void* where, int (*leap)(int), int (*recursion)(int)): calls
// first(where) and recursion(5), until it came back there twice; leap() leads back.
asm(".pushsection .rodata\n"
    "recursion: cmp $2, %edi\n"
    "  jae 1f\n"
    "  mov %edi, %eax\n"
    "  ret\n"
    "1: push %rbx\n"
    "  push %rdi\n"
    "  sub $1, %edi\n"
    "  call recursion\n"
    "  mov %eax, %ebx\n"
    "  mov (%rsp), %rdi\n"
    "  sub $2, %edi\n"
    "  call recursion\n"
    "  add %ebx, %eax\n"
    "  pop %rdi\n"
    "  pop %rbx\n"
    "  ret\n"
    "again: push %rbx\n"
    "  push %r12\n"
    "  push %r13\n"
    "  mov %rdx, %rbx\n"
    "  mov %rcx, %r12\n"
    "  mov %rdi, %rax\n"
    "  mov %rsi, %rdi\n"
    "  call *%rax\n"
    "  mov %eax, %r13d\n"
    "  mov $5, %edi\n"
    "  call *%r12\n"
    "  cmp $2, %r13d\n"
    "  jae 2f\n"
    "  lea 1(%r13), %edi\n"
    "  call *%rbx\n"
    "2: pop %r13\n"
    "  pop %r12\n"
    "  pop %rbx\n"
    "  ret\n"
    "made_end:\n"
    ".popsection\n");
extern const char recursion[], again[], made_end[];

static jmp_buf where;

__attribute__((noinline)) static int leap(int times) { longjmp(where, times); }

typedef int (*Recursion)(int);
typedef int (*Again)(int (*)(struct __jmp_buf_tag*), void*, Recursion, Recursion);

int main(void) {
  const size_t page = 4096;
  const size_t size = (size_t)(made_end - recursion);
  char* code =
      mmap(NULL, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return 1;
  const size_t copies = page / size;
  for (size_t i = 0; i < copies; ++i) memcpy(code + i * size, recursion, size);
  // Until mappings have not changed for long.
  const Recursion made = (Recursion)(void*)code;
  int sum = 0;
  for (int i = 0; i < 1000; ++i) sum += made(10);
  // Each place returns there for the first time in the midst of what is known.
  for (size_t i = 0; i < copies; ++i) {
    const Again made_again = (Again)(void*)(code + i * size + (again - recursion));
    sum += made_again(_setjmp, where, leap, made);
  }
  printf("sum %d\n", sum);
  return 0;
}
