// random_code SEED BATCHES [verbose]: makes random functions, runs them with random registers,
// flags and memory, and prints a hash of what each leaves behind. Natively and on the engine it has
// to be the same.
//
// The functions use all registers but RSP, memory near RBX, all status flags, conditional branches,
// loops, calls, indirect jumps and calls, and instructions of every encoding (legacy, REX, VEX).
// What faults is left by a handler.
#define _GNU_SOURCE
#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { kFunctions = 400, kFunctionBytes = 2048, kMemory = 4096, kRuns = 3 };

static uint64_t state;
static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}
static unsigned below(unsigned limit) { return (unsigned)((next_random() >> 20) % limit); }

static unsigned char* at;
static void put(unsigned byte) { *at++ = (unsigned char)byte; }
static void put4(uint32_t value) {
  memcpy(at, &value, 4);
  at += 4;
}

// Not RSP (4), and RBX (3) is never written: it is the base of all memory operands.
static unsigned any_register(void) {
  static const unsigned char often[] = {0, 1, 2, 5, 6, 7, 8, 9, 10, 10, 11, 11, 12, 13, 14, 15};
  return often[below(sizeof often)];
}

// ModRM with its SIB and displacement; `reg` and `rm` may be 8 to 15, whose REX bits are the
// caller's. Memory operands are [RBX + disp32] or [RBX + index * 1 + disp32], the index being
// masked to a byte by who uses it.
static void modrm(unsigned reg, unsigned rm, int memory) {
  if (!memory) {
    put(0xc0 | (reg & 7) << 3 | (rm & 7));
    return;
  }
  put(0x80 | (reg & 7) << 3 | 3);
  put4(64 + below(kMemory - 256));
}

// CMP behind an instruction that leaves flags undefined: what is in them then is nobody's business.
static void define_flags(void) {
  const unsigned reg = any_register(), rm = any_register();
  put(0x48 | (reg >> 3) << 2 | rm >> 3);
  put(0x39);
  modrm(reg, rm, 0);
}

static void alu(void) {
  const unsigned reg = any_register(), rm = any_register();
  const int memory = below(3) == 0, wide = (int)below(2), byte = below(4) == 0;
  static const unsigned char opcodes[] = {0x01, 0x09, 0x11, 0x19, 0x21, 0x29, 0x31,
                                          0x39, 0x85, 0x03, 0x0b, 0x13, 0x1b, 0x23,
                                          0x2b, 0x33, 0x3b, 0x89, 0x8b, 0x87};
  const unsigned opcode = opcodes[below(sizeof opcodes)];
  if (below(8) == 0) put(0x66);
  const int lock = memory && below(8) == 0 && opcode < 0x3a && (opcode & 7) == 1 && opcode != 0x39;
  if (lock) put(0xf0);
  put(0x40 | (unsigned)(wide << 3) | (reg >> 3) << 2 | (memory ? 0 : rm >> 3));
  put(byte ? opcode & ~1u : opcode);
  modrm(reg, rm, memory);
  // Linux lets a thread sleep that locks two lines at once, and on a busy machine it may never get
  // past that (handle_user_split_lock()).
  if (lock || (memory && opcode == 0x87)) at[-4] &= 0xf8;
}

static void immediate(void) {
  const unsigned rm = any_register();
  const int memory = below(4) == 0, wide = (int)below(2);
  put(0x40 | (unsigned)(wide << 3) | (memory ? 0 : rm >> 3));
  put(0x83);
  modrm(below(8), rm, memory);
  put(below(256));
}

static void shift(void) {
  const unsigned rm = any_register();
  static const unsigned char which[] = {0, 1, 2, 3, 4, 5, 7};
  put(0x40 | below(2) << 3 | rm >> 3);
  if (below(2)) {
    put(0xc1);
    modrm(which[below(7)], rm, 0);
    put(below(64));
  } else {
    put(below(2) ? 0xd3 : 0xd1);
    modrm(which[below(7)], rm, 0);
  }
  define_flags();
}

static void unary(void) {  // NOT NEG MUL IMUL DIV IDIV, INC DEC
  const unsigned rm = any_register();
  const int memory = below(4) == 0;
  put(0x40 | below(2) << 3 | (memory ? 0 : rm >> 3));
  if (below(2)) {
    put(0xf7);
    modrm(2 + below(6), rm, memory);
    define_flags();
  } else {
    put(0xff);
    modrm(below(2), rm, memory);
  }
}

static void two_byte(void) {
  const unsigned reg = any_register(), rm = any_register();
  const int memory = below(4) == 0;
  const unsigned rex = 0x40 | below(2) << 3 | (reg >> 3) << 2 | (memory ? 0 : rm >> 3);
  static const unsigned char plain[] = {0xaf, 0xb6, 0xb7, 0xbe, 0xbf, 0xbc, 0xbd, 0xa3,
                                        0xab, 0xb3, 0xbb, 0xc1, 0xb1, 0xa5, 0xad};
  unsigned opcode = plain[below(sizeof plain)];
  if (below(2)) opcode = 0x40 | below(16);       // CMOVcc
  if (below(4) == 0) opcode = 0x90 | below(16);  // SETcc
  const int bit_test = opcode == 0xa3 || opcode == 0xab || opcode == 0xb3 || opcode == 0xbb;
  const int use_memory = memory && !bit_test;  // their memory operand goes far
  if ((opcode == 0xb8) && 1) put(0xf3);
  put(use_memory ? rex : (rex & ~1u) | rm >> 3);
  put(0x0f);
  put(opcode);
  modrm(reg, rm, use_memory);
  if ((opcode & 0xf0) != 0x40 && (opcode & 0xf0) != 0x90) define_flags();
}

static void flag_work(void) {
  static const unsigned char codes[][3] = {{1, 0x9f},       {1, 0x9e},      {1, 0xf5},
                                           {1, 0xf8},       {1, 0xf9},      {2, 0x9c, 0x58},
                                           {2, 0x48, 0x98}, {2, 0x48, 0x99}};
  const unsigned char* code = codes[below(8)];
  for (unsigned i = 1; i <= code[0]; ++i) put(code[i]);
  if (code[1] == 0x9c) {  // of PUSHF: the status flags alone
    put(0x25);
    put4(0x8d5);
  }
}

static void lea(void) {
  const unsigned reg = any_register(), base = any_register(), index = any_register();
  put(0x48 | (reg >> 3) << 2 | (index >> 3) << 1 | base >> 3);
  put(0x8d);
  put(0x84 | (reg & 7) << 3);
  put(below(4) << 6 | (index & 7) << 3 | (base & 7));
  put4((uint32_t)next_random());
}

static void stack_work(void) {
  const unsigned from = any_register(), to = any_register();
  put(0x40 | from >> 3);
  put(0x50 | (from & 7));
  put(0x40 | to >> 3);
  put(0x58 | (to & 7));
}

static void string_work(void) {  // LEA RSI and RDI into the memory, MOV ECX, REP ...
  put(0x48), put(0x8d), put(0xb3), put4(64 + below(512));
  put(0x48), put(0x8d), put(0xbb), put4(2048 + below(512));
  put(0xb9), put4(below(40));
  static const unsigned char codes[] = {0xa4, 0xa5, 0xaa, 0xab, 0xa6, 0xae};
  put(below(2) ? 0xf3 : 0xf2);
  if (below(2)) put(0x48);
  put(codes[below(6)]);
}

static int has_bmi2;
static void vex(
    void) {  // ANDN, BEXTR, SHLX, SARX, SHRX, RORX, MULX, PDEP, PEXT of general registers
  if (!has_bmi2) return;
  const unsigned reg = any_register(), rm = any_register(), v = any_register();
  static const unsigned char codes[][2] = {{0xf2, 0}, {0xf7, 0}, {0xf7, 1}, {0xf7, 2}, {0xf7, 3},
                                           {0xf6, 3}, {0xf5, 3}, {0xf5, 2}, {0xf5, 0}};
  const unsigned char* code = codes[below(9)];
  const int memory = below(4) == 0;
  put(0xc4);
  put((reg < 8 ? 0x80 : 0) | 0x40 | (memory || rm < 8 ? 0x20 : 0) | 2);
  put(below(2) << 7 | (~v & 15) << 3 | code[1]);
  put(code[0]);
  modrm(reg, rm, memory);
  define_flags();
}

static void sse(void) {  // between vector and general registers
  const unsigned reg = below(16), rm = any_register();
  const int store = (int)below(2);
  put(0x66);
  put(0x40 | below(2) << 3 | (reg >> 3) << 2 | rm >> 3);
  put(0x0f);
  put(store ? 0x7e : 0x6e);
  modrm(reg, rm, 0);
}

static void rip_relative(const unsigned char* data) {
  const unsigned reg = any_register();
  put(0x48 | (reg >> 3) << 2);
  put(below(2) ? 0x8b : 0x03);
  put(0x05 | (reg & 7) << 3);
  put4((uint32_t)(data - (at + 4)));
}

static void body(unsigned count, const unsigned char* data, unsigned char** callable,
                 unsigned callables, int depth);

static void skip(unsigned count, const unsigned char* data, unsigned char** callable,
                 unsigned callables, int depth) {
  const unsigned kind = below(8);
  unsigned char* field;
  if (kind == 0) {
    put(0xe3), put(5);  // JRCXZ over a jump
    put(0xe9);
  } else {
    put(0x0f), put(0x80 | below(16));
  }
  field = at;
  put4(0);
  body(count, data, callable, callables, depth + 1);
  const int32_t distance = (int32_t)(at - (field + 4));
  memcpy(field, &distance, 4);
}

static void loop(unsigned count, const unsigned char* data, unsigned char** callable,
                 unsigned callables) {
  put(0xc7), put(0x83), put4(kMemory - 8), put4(1 + below(5));  // MOV [RBX + ...], count
  unsigned char* head = at;
  body(count, data, callable, callables, 2);
  put(0xff), put(0x8b), put4(kMemory - 8);  // DEC [RBX + ...]
  put(0x0f), put(0x85);
  put4((uint32_t)(head - (at + 4)));
}

static void call(unsigned char** callable, unsigned callables) {
  if (callables == 0) return;
  unsigned char* target = callable[below(callables)];
  const unsigned kind = below(4), reg = any_register();
  if (kind < 2) {
    put(0xe8);
    put4((uint32_t)(target - (at + 4)));
    return;
  }
  put(0x48 | reg >> 3), put(0xb8 | (reg & 7));  // MOV reg, target
  const uint64_t address = (uint64_t)target;
  memcpy(at, &address, 8), at += 8;
  if (kind == 2) {
    put(0x40 | reg >> 3), put(0xff), put(0xd0 | (reg & 7));
  } else {
    put(0x48 | (reg >> 3) << 2), put(0x89), put(0x83 | (reg & 7) << 3), put4(kMemory - 24);
    put(0xff), put(0x93), put4(kMemory - 24);  // CALL [RBX + ...]
  }
}

static void body(unsigned count, const unsigned char* data, unsigned char** callable,
                 unsigned callables, int depth) {
  for (unsigned i = 0; i < count; ++i) {
    switch (below(18)) {
      case 0:
        immediate();
        break;
      case 1:
        shift();
        break;
      case 2:
        unary();
        break;
      case 3:
      case 4:
        two_byte();
        break;
      case 5:
        flag_work();
        break;
      case 6:
        lea();
        break;
      case 7:
        stack_work();
        break;
      case 8:
        if (below(3) == 0) string_work();
        break;
      case 9:
        vex();
        break;
      case 10:
        sse();
        break;
      case 11:
        rip_relative(data);
        break;
      case 12:
      case 13:
        if (depth < 3) skip(1 + below(4), data, callable, callables, depth);
        break;
      case 14:
        if (depth < 1) loop(1 + below(4), data, callable, callables);
        break;
      case 15:
        if (depth < 2) call(callable, callables);
        break;
      default:
        alu();
    }
  }
}

static sigjmp_buf away;
static int verbose;  // registers of each run, too
static volatile uint64_t fault_hash;
static unsigned char* code;

static void on_fault(int number, siginfo_t* info, void* context) {
  const greg_t* r = ((ucontext_t*)context)->uc_mcontext.gregs;
  uint64_t hash = (uint64_t)number;
  for (int i = 0; i < 15; ++i) hash = hash * 31 + (uint64_t)r[i];
  if (verbose) {
    printf("fault %d at %lx:", number, (unsigned long)r[REG_RIP]);
    for (int i = 0; i < 15; ++i) printf(" %lx", (unsigned long)r[i]);
    printf("\n");
  }
  // Not the flags: the engine changes them where the code replaces them before it reads them.
  fault_hash = hash * 31 + (uint64_t)(r[REG_RIP] - (greg_t)(uintptr_t)code);
  siglongjmp(away, 1);
}

// RDI: the function; RSI: 16 registers in the order of their numbers, then the flags; they are
// replaced. RDX: R12.
void run(void* function, uint64_t* registers);
__asm__(
    ".pushsection .text; .globl run; run:"
    "push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; push %rsi; push %rdi;"
    "mov %rsi, %rax; push 128(%rax); popf;"
    "mov 8(%rax), %rcx; mov 16(%rax), %rdx; mov 24(%rax), %rbx; mov 40(%rax), %rbp; mov 48(%rax), %rsi; mov 56(%rax), %rdi;"
    "mov 64(%rax), %r8; mov 72(%rax), %r9; mov 80(%rax), %r10; mov 88(%rax), %r11; mov 96(%rax), %r12; mov 104(%rax), %r13;"
    "mov 112(%rax), %r14; mov 120(%rax), %r15; mov (%rax), %rax;"
    "call *(%rsp);"
    "pushf; push %rax; mov 24(%rsp), %rax; mov %rcx, 8(%rax); mov %rdx, 16(%rax); mov %rbx, 24(%rax); mov %rbp, 40(%rax);"
    "mov %rsi, 48(%rax); mov %rdi, 56(%rax); mov %r8, 64(%rax); mov %r9, 72(%rax); mov %r10, 80(%rax); mov %r11, 88(%rax);"
    "mov %r12, 96(%rax); mov %r13, 104(%rax); mov %r14, 112(%rax); mov %r15, 120(%rax); pop %rcx; mov %rcx, (%rax);"
    "pop %rcx; mov %rcx, 128(%rax); cld;"
    "pop %rdi; pop %rsi; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret; .popsection");

static uint64_t run_one(unsigned char* function, unsigned char* memory) {
  uint64_t registers[17];
  for (int i = 0; i < 17; ++i) registers[i] = below(4) == 0 ? below(300) : next_random();
  for (int i = 0; i < kMemory / 8; ++i) ((uint64_t*)memory)[i] = next_random();
  registers[3] = (uint64_t)(uintptr_t)memory;
  registers[4] = 0;
  registers[16] = 0x202 | (registers[16] & 0x8d5);
  fault_hash = 0;
  if (sigsetjmp(away, 1) == 0) run(function, registers);
  uint64_t hash = fault_hash;
  if (verbose) {
    printf("left:");
    for (int i = 0; i < 17; ++i)
      printf(" %lx", (unsigned long)(i == 16 ? registers[i] & 0x8d5 : registers[i]));
    printf("\n");
  }
  // Flags that an instruction leaves undefined are the processor's, and the same on both ways.
  for (int i = 0; i < 17; ++i)
    hash = hash * 0x100000001b3 ^ (i == 16 ? registers[i] & 0x8d5 : registers[i]);
  for (int i = 0; i < kMemory / 8 - 4; ++i) hash = hash * 0x100000001b3 ^ ((uint64_t*)memory)[i];
  return hash;
}

int main(int argc, char** argv) {
  state = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * 0x9e3779b97f4a7c15 + 1;
  const int batches = argc > 2 ? atoi(argv[2]) : 5;
  verbose = argc > 3;
  unsigned a, b, c, d;
  has_bmi2 = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 0x108) == 0x108;
  // At fixed places: registers that hold addresses are part of what is compared.
  code = mmap((void*)0x200000000, kFunctions * kFunctionBytes, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  unsigned char* memory = mmap((void*)0x300000000, kMemory, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  char* stack = mmap((void*)0x400000000, 1 << 16, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  stack_t alternate = {.ss_sp = stack, .ss_size = 1 << 16};
  sigaltstack(&alternate, NULL);
  struct sigaction action = {.sa_sigaction = &on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  for (int number = SIGILL; number <= SIGSEGV; ++number) {
    if (number == SIGILL || number == SIGFPE || number == SIGSEGV || number == SIGBUS)
      sigaction(number, &action, NULL);
  }
  unsigned char* functions[kFunctions];
  for (int batch = 0; batch < batches; ++batch) {
    mprotect(code, kFunctions * kFunctionBytes, PROT_READ | PROT_WRITE);
    for (unsigned i = 0; i < kFunctions; ++i) {
      functions[i] = at = code + i * kFunctionBytes;
      body(8 + below(24), code + below(4096), functions, i < 4 ? i : 4, 0);
      put(0xc3);
      if (at > functions[i] + kFunctionBytes) abort();
    }
    mprotect(code, kFunctions * kFunctionBytes, PROT_READ | PROT_EXEC);
    for (int round = 0; round < kRuns; ++round) {
      for (unsigned i = 0; i < kFunctions; ++i) {
        printf("%d %d %u %016lx%s\n", batch, round, i, (unsigned long)run_one(functions[i], memory),
               fault_hash ? " fault" : "");
      }
    }
  }
  return 0;
}
