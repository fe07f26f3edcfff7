// Code of 32 bits in a program of 64: a far call there and a far return, a system call in it, a
// fault whose handler looks at where it was and goes on there, and signals of a timer meanwhile.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static uint64_t stack[4096];  // below 4 GB, as all of a program at a fixed place
static volatile sig_atomic_t timer_signals;

extern char at_fault[];

__asm__(
    ".text\n.code32\n"
    // EAX: rounds; EBX: what a loop has come to.
    "loop_32: xor %ebx, %ebx\n"
    "1: lea 3(%ebx, %ebx, 2), %ebx\n dec %eax\n jnz 1b\n lret\n"
    // The process, by INT 0x80.
    "pid_32: mov $20, %eax\n int $0x80\n mov %eax, %ebx\n lret\n"
    // A fault that the handler steps over, and pushes of four bytes.
    "fault_32: push $7\n"
    "at_fault: ud2\n pop %ebx\n add %eax, %ebx\n lret\n"
    // fork, which the engine has fail (docs/trace-unit.md), or which is a process that ends at
    // once.
    "fork_32: mov $2, %eax\n int $0x80\n test %eax, %eax\n jnz 1f\n mov $1, %eax\n xor %ebx, %ebx\n"
    "  int $0x80\n"
    "1: mov %eax, %ebx\n lret\n"
    ".code64\n");
extern char loop_32[], pid_32[], fault_32[], fork_32[];

static uint32_t call_32(const char* to, uint32_t value) {
  const struct {
    uint32_t at;
    uint16_t segment;
  } __attribute__((packed)) place = {(uint32_t)(uintptr_t)to, 0x23};
  uint64_t result = 0;
  __asm__ volatile("mov %%rsp, %%r12\n mov %[stack], %%rsp\n lcall *(%[place])\n mov %%r12, %%rsp"
                   : "+a"(value), "=b"(result)
                   : [place] "r"(&place), [stack] "r"(stack + 4000), "m"(place)
                   : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "cc", "memory");
  return (uint32_t)result;
}

static void on_fault(int number, siginfo_t* info, void* context) {
  greg_t* const r = ((ucontext_t*)context)->uc_mcontext.gregs;
  printf("signal %d code %d %s the fault, segment %x, eax %llx\n", number, info->si_code,
         (char*)r[REG_RIP] == at_fault ? "at" : "beside", (unsigned)(r[REG_CSGSFS] & 0xffff),
         r[REG_RAX]);
  fflush(stdout);
  r[REG_RIP] += 2;
  r[REG_RAX] = 35;
}

static void on_timer(int number) {
  (void)number;
  ++timer_signals;
}

int main(int argc, char** argv) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGILL, &action, NULL);
  printf("loop %x\n", call_32(loop_32, 1000));
  printf("process %d\n", call_32(pid_32, 0) == (uint32_t)getpid());
  printf("behind the fault %u\n", call_32(fault_32, 1));
  struct sigaction ticks = {.sa_handler = on_timer};
  sigaction(SIGALRM, &ticks, NULL);
  const struct itimerval often = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &often, NULL);
  uint32_t sum = 0;
  while (timer_signals < 5) sum |= call_32(loop_32, 1000);
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  printf("loops %x\n", sum);
  if (argc > 1) printf("fork %d\n", (int)call_32(fork_32, 0));
  return 0;
}
