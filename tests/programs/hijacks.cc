// Test fixture: a program that hijacks its own control flow, in the way that its argument names,
// and then says a word. Nothing here reaches beyond this process.
//
// What an attacker would write through a bug in the program, each form writes by itself. It is
// built for x86-64 and for i386.
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <wordexp.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <type_traits>

using Word = std::uintptr_t;  // an address

extern "C" {

// Where the hijacks end. So many branches that samples of branch stacks have what came before.
[[gnu::noinline, noreturn, gnu::used]] void reached() {
  for (int i = 0; i < 16; ++i) asm volatile("");
  static const char kWord[] = "reached\n";
  [[maybe_unused]] const ssize_t written = write(1, kWord, sizeof kWord - 1);
  _exit(0);
}

// Code with useful pieces inside. Their places are data of its own kind: distances, which no
// analysis takes for addresses of code.
extern const char host[];
extern const std::uint32_t host_pop, host_nop, host_jop, host_call, host_spin;
// Behind calls that nothing makes.
extern const std::uint32_t host_called_pop, host_called_nop, host_called_end;

// Says whether its argument is 4711, by one branch.
int check_key(int key);
extern char check_key_branch[];

// 0, far into a block.
int long_block();
extern char long_block_value[];
}

#ifdef __i386__
#define DI "edi"
#define BX "ebx"
#define SP "esp"
#define WORD_SIZE "4"
#define ARGUMENT "4(%esp)"
#else
#define DI "rdi"
#define BX "rbx"
#define SP "rsp"
#define WORD_SIZE "8"
#define ARGUMENT "%edi"
#endif

asm(R"(
        .text
        .type host, @function
        .globl host
host:   mov $1, %eax
        ret
1:      pop %)" DI R"(
        ret
2:      nop
        ret
3:      add $)" WORD_SIZE R"(, %)" BX R"(
        jmp *(%)" BX R"()
4:      mov $2, %eax
        and $-16, %)" SP R"(
        call reached
5:      mov $16, %ecx
6:      loop 6b
        ret
        call host
7:      pop %)" DI R"(
        ret
        call host
8:      nop
        ret
        call host
9:      and $-16, %)" SP R"(
        call reached
        .size host, .-host
        .section .rodata
        .globl host_pop, host_nop, host_jop, host_call, host_spin, host_called_pop, host_called_nop, host_called_end
host_pop:  .long 1b - host
host_nop:  .long 2b - host
host_jop:  .long 3b - host
host_call: .long 4b - host
host_spin: .long 5b - host
host_called_pop: .long 7b - host
host_called_nop: .long 8b - host
host_called_end: .long 9b - host
        .text

        .balign 4096  # a page of its own: nothing else runs from it while it is written to
        .type check_key, @function
        .globl check_key, check_key_branch
check_key: cmpl $4711, )" ARGUMENT R"(
check_key_branch: jne 1f
        mov $1, %eax
        ret
1:      xor %eax, %eax
        ret
        .size check_key, .-check_key
        .balign 4096
        .type long_block, @function
        .globl long_block, long_block_value
long_block: .skip 150, 0x90
        .byte 0xb8  # mov $0, %eax
long_block_value: .long 0
        .skip 100, 0x90
        ret
        .size long_block, .-long_block
        .balign 4096
)");
;

namespace {

using Function = void (*)();

Word inside(const std::uint32_t& distance) { return reinterpret_cast<Word>(host) + distance; }
Word address(Function f) { return reinterpret_cast<Word>(f); }

// --- return addresses ---

// Overwrites what its caller is to return to.
[[gnu::noinline]] void smash(const Word* words, std::size_t count) {
  auto* frame = static_cast<Word*>(__builtin_frame_address(0));
  std::memmove(frame + 1, words, count * sizeof *words);  // they may lie there
}

[[gnu::noinline]] void return_to_function() {
  const Word words[] = {address(reached)};
  smash(words, 1);
}

[[gnu::noinline]] void return_to_library() {
  // The third link leads into a loop, so that branch stacks see it.
  const Word words[] = {inside(host_pop),
                        0,
                        inside(host_nop),
                        inside(host_spin),
                        reinterpret_cast<Word>(&_exit),
                        0,
                        0};  // i386: where _exit would return to, and its argument
  [[maybe_unused]] const ssize_t written = write(1, "reached\n", 8);
  smash(words, std::size(words));
}

[[gnu::noinline]] void rop() {
  const Word words[] = {inside(host_pop), 1, inside(host_nop),
                        inside(host_pop), 2, inside(host_nop),
                        inside(host_call)};
  smash(words, 7);
}

[[gnu::noinline]] void rop_behind_calls() {
  const Word words[] = {inside(host_called_pop), 1, inside(host_called_nop),
                        inside(host_called_pop), 2, inside(host_called_nop),
                        inside(host_call)};
  smash(words, 7);
}

// As smash(), in a child, whose calls its parent made.
[[gnu::noinline]] void smash_in_child(const Word* words, std::size_t count) {
  if (fork() != 0) {
    wait(nullptr);
    _exit(0);
  }
  auto* frame = static_cast<Word*>(__builtin_frame_address(0));
  std::memmove(frame + 1, words, count * sizeof *words);  // they may lie there
}

[[gnu::noinline]] void rop_in_child() {
  const Word words[] = {inside(host_called_pop), 1, inside(host_called_nop),
                        inside(host_called_pop), 2, inside(host_called_nop),
                        inside(host_call)};
  smash_in_child(words, 7);
}

// --- contexts ---

// Goes on at `target` with `words` on the stack, by a context that was to lead back here.
[[gnu::noinline]] void corrupt_context(Word target, const Word* words, std::size_t count) {
  static ucontext_t context;
  static Word stack[8192];
  getcontext(&context);
  auto* top = stack + std::size(stack) - 64 + (sizeof(Word) == 8 ? 1 : 3);
  std::memcpy(top, words, count * sizeof *words);
  auto& registers = context.uc_mcontext.gregs;
#ifdef __i386__
  registers[REG_EIP] = static_cast<greg_t>(target);
  registers[REG_ESP] = reinterpret_cast<greg_t>(top);
#else
  registers[REG_RIP] = static_cast<greg_t>(target);
  registers[REG_RSP] = reinterpret_cast<greg_t>(top);
  registers[REG_RDI] = reinterpret_cast<greg_t>(":");
#endif
  setcontext(&context);
}

void context_to_system() {
  const Word words[] = {address(reached), reinterpret_cast<Word>(":")};
  corrupt_context(reinterpret_cast<Word>(&system), words, std::size(words));
}

void context_behind_call() {
  const Word words[] = {1, inside(host_call)};
  corrupt_context(inside(host_called_pop), words, std::size(words));
}

// A handler's overflow reaches what the kernel saved.
void put_into_host(int, siginfo_t*, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
#ifdef __i386__
  registers[REG_EIP] = static_cast<greg_t>(inside(host_call));
#else
  registers[REG_RIP] = static_cast<greg_t>(inside(host_call));
#endif
}

[[gnu::noinline]] void signal_frame_overwritten() {
  struct sigaction action{};
  action.sa_sigaction = put_into_host;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
}

// --- pointers ---

[[gnu::noinline]] void jop() {
  static Word table[5];
  for (Word& entry : table) entry = inside(host_jop);
  table[4] = inside(host_call);
  asm volatile("mov %0, %%" BX "; jmp *(%%" BX ")" : : "r"(table) : BX);
}

[[gnu::noinline]] void pointer_inside() {
  volatile Word corrupted = inside(host_call);
  reinterpret_cast<Function>(corrupted)();
}

// Other code writes to the pointer: what a function's own text puts there may be called.
template <class T>
[[gnu::noinline]] void corrupt(volatile T* pointer, T value) {
  *pointer = value;
}

[[gnu::noinline]] void pointer_to_library() {
  using Change = int (*)(uid_t);
  volatile Change corrupted = nullptr;
  corrupt<Change>(&corrupted, &setuid);
  corrupted(getuid());
  reached();
}

[[gnu::noinline]] void pointer_to_system() {
  using Run = int (*)(const char*);
  volatile Run corrupted = nullptr;
  corrupt<Run>(&corrupted, &system);
  corrupted(":");
  reached();
}

// Which has a shell run what the words ask for.
[[gnu::noinline]] void pointer_to_wordexp() {
  using Expand = int (*)(const char*, wordexp_t*, int);
  volatile Expand corrupted = nullptr;
  corrupt<Expand>(&corrupted, &wordexp);
  wordexp_t words{};
  corrupted("$(:)", &words, 0);
  reached();
}

// Which can have all memory executable that a program maps from then on.
[[gnu::noinline]] void pointer_to_personality() {
  using Ask = int (*)(unsigned long);
  volatile Ask corrupted = nullptr;
  corrupt<Ask>(&corrupted, &personality);
  corrupted(0xffffffff);
  reached();
}

// The path of what lies beside this program.
const char* beside(const char* name) {
  static std::string path;
  path.resize(4096);
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  path.resize(path.rfind('/', static_cast<std::size_t>(size)));
  path += name;
  return path.c_str();
}

// A library whose constructor says the word.
const char* library() {
  return beside(sizeof(Word) == 8 ? "/libinjected.so" : "/libinjected_32.so");
}

[[gnu::noinline]] void library_by_pointer() {
  using Open = void* (*)(const char*, int);
  volatile Open corrupted = nullptr;
  corrupt<Open>(&corrupted, &dlopen);
  corrupted(library(), RTLD_NOW);
}

// What a debugger does that has stopped a thread: other registers, and on. QEMU runs no debuggers,
// so that a signal handler does it.
void put_into_dlopen(int, siginfo_t*, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
#ifdef __i386__
  auto* stack = reinterpret_cast<greg_t*>((registers[REG_ESP] - 4096) & ~greg_t{15}) - 1;
  stack[1] = reinterpret_cast<greg_t>(library());
  stack[2] = RTLD_NOW;
  registers[REG_ESP] = reinterpret_cast<greg_t>(stack);
  registers[REG_EIP] = reinterpret_cast<greg_t>(&dlopen);
#else
  registers[REG_RDI] = reinterpret_cast<greg_t>(library());
  registers[REG_RSI] = RTLD_NOW;
  registers[REG_RSP] = ((registers[REG_RSP] - 4096) & ~greg_t{15}) - 8;
  registers[REG_RIP] = reinterpret_cast<greg_t>(&dlopen);
#endif
}

[[gnu::noinline]] void library_by_debugger() {
  struct sigaction action{};
  action.sa_sigaction = put_into_dlopen;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
}

struct Animal {
  virtual ~Animal() = default;
  virtual int legs() const { return 4; }
};
struct Bird final : Animal {
  int legs() const override { return 2; }
};

[[gnu::noinline]] int count_legs(const Animal& animal) { return animal.legs(); }

[[gnu::noinline]] void vtable() {
  static Word forged[4];
  for (Word& entry : forged) entry = inside(host_call);
  Bird bird;
  const Word* table = forged;
  std::memcpy(static_cast<void*>(&bird), &table, sizeof table);
  count_legs(bird);
}

// glibc keeps RSP and RIP in a jmp_buf xor the thread's secret, rotated.
#ifdef __i386__
constexpr std::size_t kSavedPc = 5;
#else
constexpr std::size_t kSavedPc = 7;
#endif
Word mangled(Word value) {
#ifdef __i386__
  asm("xor %%gs:0x18, %0; rol $9, %0" : "+r"(value));
#else
  asm("xor %%fs:0x30, %0; rol $17, %0" : "+r"(value));
#endif
  return value;
}

[[gnu::noinline]] void corrupt_and_jump(Word target) {
  jmp_buf buffer;
  if (setjmp(buffer) != 0) return;
  using Saved = std::remove_reference_t<decltype(buffer[0].__jmpbuf[0])>;
  buffer[0].__jmpbuf[kSavedPc] = static_cast<Saved>(mangled(target));
  longjmp(buffer, 1);
}

void jmpbuf_inside() { corrupt_and_jump(inside(host_call)); }
void jmpbuf_to_function() { corrupt_and_jump(address(reached)); }

// A frame as the kernel would have left it, without a signal.
[[gnu::noinline]] void sigreturn_forged() {
  static ucontext_t context;
  static char stack[16384];
  getcontext(&context);
  context.uc_mcontext.fpregs = nullptr;
  auto& registers = context.uc_mcontext.gregs;
#ifdef __i386__
  registers[REG_EIP] = static_cast<greg_t>(inside(host_call));
  registers[REG_ESP] = reinterpret_cast<greg_t>(stack + sizeof stack - 64);
  std::uint32_t code = 0, data = 0, thread = 0;
  asm("mov %%cs, %0; mov %%ds, %1; mov %%gs, %2" : "=r"(code), "=r"(data), "=r"(thread));
  registers[REG_CS] = static_cast<greg_t>(code);
  for (const int which : {REG_SS, REG_DS, REG_ES}) registers[which] = static_cast<greg_t>(data);
  registers[REG_GS] = static_cast<greg_t>(thread);
  // struct rt_sigframe behind its return address: number, two pointers, siginfo, context.
  static char frame[12 + sizeof(siginfo_t) + sizeof context];
  std::memcpy(frame + 12 + sizeof(siginfo_t), &context, sizeof context);
  asm volatile("mov %0, %%esp; mov $173, %%eax; int $0x80" : : "r"(frame) : "memory");
#else
  registers[REG_RIP] = static_cast<greg_t>(inside(host_call));
  registers[REG_RSP] = reinterpret_cast<greg_t>(stack + sizeof stack - 64);
  registers[REG_CSGSFS] = 0x2b000000000033;
  asm volatile("mov %0, %%rsp; mov $15, %%eax; syscall" : : "r"(&context) : "memory");
#endif
}

// --- code ---

// mov ecx, 16; loop; write(1, "reached\n", 8); exit_group(0)
#ifdef __i386__
constexpr unsigned char kShellcode[] = {
    0xb9, 16, 0, 0, 0,    0xe2, 0xfe, 0xe8, 0,   0,    0,   0,   0x59, 0x83, 0xc1, 30,   0xb8,
    4,    0,  0, 0, 0xbb, 1,    0,    0,    0,   0xba, 8,   0,   0,    0,    0xcd, 0x80, 0xb8,
    252,  0,  0, 0, 0x31, 0xdb, 0xcd, 0x80, 'r', 'e',  'a', 'c', 'h',  'e',  'd',  '\n'};
#else
constexpr unsigned char kShellcode[] = {
    0xb9, 16,   0,    0,    0,    0xe2, 0xfe, 0xb8, 1,   0,   0,   0,   0xbf, 1,    0,    0,   0,
    0x48, 0x8d, 0x35, 0x12, 0,    0,    0,    0xba, 8,   0,   0,   0,   0x0f, 0x05, 0xb8, 231, 0,
    0,    0,    0x31, 0xff, 0x0f, 0x05, 0xcc, 0xcc, 'r', 'e', 'a', 'c', 'h',  'e',  'd',  '\n'};
#endif

[[gnu::noinline]] void shellcode_in_file() {
  const int file = open("code.bin", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (write(file, kShellcode, sizeof kShellcode) != sizeof kShellcode) return;
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  reinterpret_cast<Function>(page)();
}

// Of a file that nobody can open any more.
[[gnu::noinline]] void shellcode_in_deleted() {
  const int file = open("code.bin", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (unlink("code.bin") != 0) return;
  if (write(file, kShellcode, sizeof kShellcode) != sizeof kShellcode) return;
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
  reinterpret_cast<Function>(page)();
}

Word page_of(const void* pointer) { return reinterpret_cast<Word>(pointer) & ~Word{4095}; }

void make_executable(const void* pointer) {
  mprotect(reinterpret_cast<void*>(page_of(pointer)), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
}

[[gnu::noinline]] void shellcode_on_stack() {
  unsigned char buffer[64];
  std::memcpy(buffer, kShellcode, sizeof kShellcode);
  make_executable(buffer);
  const Word words[] = {reinterpret_cast<Word>(buffer)};
  smash(words, 1);
}

[[gnu::noinline]] void shellcode_on_heap() {
  auto* buffer = new unsigned char[16384];
  std::memcpy(buffer, kShellcode, sizeof kShellcode);
  make_executable(buffer);
  volatile Word corrupted = reinterpret_cast<Word>(buffer);
  reinterpret_cast<Function>(corrupted)();
}

[[gnu::noinline]] void shellcode_in_mapping() {
  void* page =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(page, kShellcode, sizeof kShellcode);
  reinterpret_cast<Function>(page)();
}

// Among what the file itself has as data.
[[gnu::noinline]] void shellcode_in_data() {
  alignas(4096) static unsigned char code[8192] = {1};
  std::memcpy(code, kShellcode, sizeof kShellcode);
  make_executable(code);
  volatile Word corrupted = reinterpret_cast<Word>(code);
  reinterpret_cast<Function>(corrupted)();
}

// With room for what is written over it.
[[gnu::noinline, gnu::noipa]] int victim(int value) {
  asm volatile(".skip 16, 0x90");
  return value * 3 + 1;
}
[[gnu::noinline, noreturn]] int hook(int) { reached(); }

template <std::size_t N>
void patch_victim(const unsigned char (&code)[N]) {
  make_executable(reinterpret_cast<const void*>(&victim));
  std::memcpy(reinterpret_cast<void*>(&victim), code, N);
  volatile int unused = victim(1);
  (void)unused;
}

void hook_jump() {
  unsigned char code[] = {0xe9, 0, 0, 0, 0};
  const auto distance = static_cast<std::int32_t>(reinterpret_cast<Word>(&hook) -
                                                  reinterpret_cast<Word>(&victim) - 5);
  std::memcpy(code + 1, &distance, sizeof distance);
  patch_victim(code);
}

// The hook's address in rax, or eax.
#ifdef __i386__
#define MOV_HOOK 0xb8, 0, 0, 0, 0
constexpr std::size_t kHookAt = 1;
#else
#define MOV_HOOK 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0
constexpr std::size_t kHookAt = 2;
#endif

void hook_push_return() {  // push rax; ret
  unsigned char code[] = {MOV_HOOK, 0x50, 0xc3};
  const auto target = reinterpret_cast<Word>(&hook);
  std::memcpy(code + kHookAt, &target, sizeof target);
  patch_victim(code);
}

void hook_register_jump() {  // jmp rax
  unsigned char code[] = {MOV_HOOK, 0xff, 0xe0};
  const auto target = reinterpret_cast<Word>(&hook);
  std::memcpy(code + kHookAt, &target, sizeof target);
  patch_victim(code);
}

// A branch turned round, by a program whose text is never writable and executable at once.
[[gnu::noinline]] void text_patched() {
  void* page = reinterpret_cast<void*>(page_of(check_key_branch));
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
  *check_key_branch = 0x74;  // je
  mprotect(page, 4096, PROT_READ | PROT_EXEC);
  if (check_key(1) != 0) reached();
}

// The same as a debugger would: no page's rights change.
[[gnu::noinline]] void text_through_proc() {
  const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  const unsigned char je = 0x74;
  const auto where = static_cast<off_t>(reinterpret_cast<Word>(check_key_branch));
  if (pwrite(memory, &je, 1, where) != 1) return;
  if (check_key(1) != 0) reached();
}

[[gnu::noinline]] void block_patched() {
  void* page = reinterpret_cast<void*>(page_of(long_block_value));
  mprotect(page, 4096, PROT_READ | PROT_WRITE);
  *long_block_value = 1;
  mprotect(page, 4096, PROT_READ | PROT_EXEC);
  if (long_block() != 0) reached();
}

[[gnu::noinline]] pid_t forged_getppid() { reached(); }

// Of a function of the library.
[[gnu::noinline]] void library_hooked() {
  unsigned char code[] = {MOV_HOOK, 0xff, 0xe0};  // jmp rax
  const auto target = reinterpret_cast<Word>(&forged_getppid);
  std::memcpy(code + kHookAt, &target, sizeof target);
  auto* function = reinterpret_cast<void*>(&getppid);
  make_executable(function);
  std::memcpy(function, code, sizeof code);
  getppid();
}

// The program is linked so that calls go through slots that stay writable.
[[gnu::noinline]] void slot_overwritten() {
  Word* slot = nullptr;
#ifdef __i386__
  asm("call 1f\n1: pop %0\nadd $_GLOBAL_OFFSET_TABLE_ + (. - 1b), %0\n"
      "lea getppid@GOT(%0), %0"
      : "=&r"(slot));
#else
  asm("lea getppid@GOTPCREL(%%rip), %0" : "=r"(slot));
#endif
  *slot = reinterpret_cast<Word>(&forged_getppid);
  getppid();
}

// strchr is an IFUNC, which stands for functions of other names, but not for any.
[[gnu::noinline]] void chosen_slot_overwritten() {
  Word* slot = nullptr;
#ifdef __i386__
  asm("call 1f\n1: pop %0\nadd $_GLOBAL_OFFSET_TABLE_ + (. - 1b), %0\n"
      "lea strchr@GOT(%0), %0"
      : "=&r"(slot));
#else
  asm("lea strchr@GOTPCREL(%%rip), %0" : "=r"(slot));
#endif
  *slot = reinterpret_cast<Word>(&atoi);
  volatile char text[] = "1";
  const volatile void* found = std::strchr(const_cast<char*>(text), text[0]);
  if (found == reinterpret_cast<void*>(1)) reached();
}

[[gnu::noinline]] void nothing() { reached(); }

#ifndef __i386__
#include "hijacks_bare.h"
#include "hijacks_deceived.h"
#include "hijacks_planted.h"
#endif

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, Function> forms = {
      {"none", nothing},
      {"return-to-function", return_to_function},
      {"return-to-library", return_to_library},
      {"rop", rop},
      {"jop", jop},
      {"pointer-inside", pointer_inside},
      {"pointer-to-library", pointer_to_library},
      {"pointer-to-system", pointer_to_system},
      {"pointer-to-wordexp", pointer_to_wordexp},
      {"pointer-to-personality", pointer_to_personality},
      {"library-by-pointer", library_by_pointer},
      {"rop-behind-calls", rop_behind_calls},
      {"rop-in-child", rop_in_child},
      {"context-to-system", context_to_system},
      {"context-behind-call", context_behind_call},
      {"signal-frame", signal_frame_overwritten},
      {"library-by-debugger", library_by_debugger},
      {"vtable", vtable},
      {"jmpbuf-inside", jmpbuf_inside},
      {"jmpbuf-to-function", jmpbuf_to_function},
      {"sigreturn", sigreturn_forged},
      {"shellcode-on-stack", shellcode_on_stack},
      {"shellcode-on-heap", shellcode_on_heap},
      {"shellcode-in-mapping", shellcode_in_mapping},
      {"shellcode-in-file", shellcode_in_file},
      {"shellcode-in-deleted", shellcode_in_deleted},
      {"shellcode-in-data", shellcode_in_data},
      {"hook-jump", hook_jump},
      {"hook-push-return", hook_push_return},
      {"hook-register-jump", hook_register_jump},
      {"text-patched", text_patched},
      {"text-through-proc", text_through_proc},
      {"block-patched", block_patched},
      {"library-hooked", library_hooked},
      {"slot-overwritten", slot_overwritten},
      {"chosen-slot-overwritten", chosen_slot_overwritten},
#ifndef __i386__
      {"handler-inside", handler_inside},
      {"handler-sensitive", handler_sensitive},
      {"label-of-another", jump_to_label_of_another},
      {"context-to-closed-label", context_to_closed_label},
      {"jmpbuf-to-entry", jmpbuf_to_entry},
      {"pointer-beside-held-slot", pointer_beside_held_slot},
      {"pointer-beside-wrapper", pointer_beside_wrapper},
      {"pointer-beside-asked", pointer_beside_asked},
      {"asked-pointer-to-another", asked_pointer_to_another},
      {"pointer-in-frame-to-another", pointer_in_frame_to_another},
      {"pointer-in-frame-to-other-choice", pointer_in_frame_to_other_choice},
      {"slot-to-stub", slot_to_stub},
      {"library-chooses-another", library_chooses_another},
      {"coroutine-inside", coroutine_inside},
      {"coroutine-behind-call", coroutine_behind_call},
      {"coroutine-to-function", coroutine_to_function},
      {"pushed-inside", pushed_inside},
      {"pushed-untaken", pushed_untaken},
      {"stored-inside", stored_inside},
      {"stored-untaken", stored_untaken},
      {"flags-inside", flags_inside},
      {"moved-inside", moved_inside},
      {"left-out-inside", left_out_inside},
      {"jumped-inside", jumped_inside},
      {"jumped-untaken", jumped_untaken},
      {"kept-place-inside", kept_place_inside},
      {"kept-place-behind-call", kept_place_behind_call},
      {"kept-place-untaken", kept_place_untaken},
      {"behind-nop", behind_nop},
      {"behind-start-inside", behind_start_inside},
      {"behind-start-of-another", behind_start_of_another},
      {"to-handler", to_handler},
      {"to-handler-of-open", to_handler_of_open},
      {"label-in-table-of-another", label_in_table_of_another},
      {"context-to-untaken", context_to_untaken},
      {"context-to-global", context_to_global},
      {"kernel-page-hooked", kernel_page_hooked},
      {"handler-to-untaken", handler_to_untaken},
      {"handler-to-label", handler_to_label},
      {"label-of-its-own", label_of_its_own},
      {"argument-inside", argument_inside},
      {"argument-jumped", argument_jumped},
      {"argument-elsewhere", argument_elsewhere},
      {"check-skipped", skips_a_check},
      {"context-behind-code", context_behind_code},
      {"context-of-handler", context_of_handler},
      {"label-of-interrupted", label_of_interrupted},
      {"behind-slot-elsewhere", behind_slot_elsewhere},
      {"to-joined-handler", to_joined_handler},
      {"bare-inside", bare_inside},
      {"behind-label-to-open-call", behind_label_to_open_call},
      {"behind-label-inside", behind_label_inside},
      {"label-by-distance", label_by_distance},
      {"label-by-distance-inside", label_by_distance_inside},
      {"page-mapped-over", page_mapped_over},
      {"library-mapped-over", library_mapped_over},
      {"resolver-changed", resolver_changed},
      {"descriptor-changed", descriptor_changed},
      {"restorer-inside", restorer_inside},
      {"signal-stack-moved", signal_stack_moved},
      {"exception-to-other-handler", exception_to_other_handler},
      {"page-moved-over", page_moved_over},
      {"memory-over-text", memory_over_text},
      {"finished-elsewhere", finished_elsewhere},
      {"far-to-function", far_to_function},
      {"flags-and-stack-inside", flags_and_stack_inside},
      {"sigreturn-by-restorer", sigreturn_by_restorer},
#endif
  };
  const auto form = argc == 2 ? forms.find(argv[1]) : forms.end();
  if (form == forms.end()) {
    std::fprintf(stderr, "usage: hijacks FORM\n");
    return 2;
  }
  form->second();
  return 1;  // the hijack failed
}
