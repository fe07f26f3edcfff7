// Forms of `hijacks` that try what the check allows to runtimes of languages: addresses that a
// program's own text planted. For x86-64, included by hijacks.cc into its namespace.

// --- where a signal handler begins ---

[[gnu::noinline]] void handle_by(Word handler) {
  struct sigaction action{};
  std::memcpy(&action.sa_handler, &handler, sizeof handler);
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
  reached();
}
void handler_inside() { handle_by(inside(host_call)); }
void handler_sensitive() { handle_by(reinterpret_cast<Word>(&setuid)); }

// --- labels that are written down ---

// A function with labels of its own in data: one that only data names, one that it pushes itself.
extern "C" {
extern const Word labels_in_data[];
void labelled();
void labelled_pusher();
extern const std::uint32_t pushed_label;
}
asm(R"(
        .text
        .type labelled, @function
labelled:
        xor %eax, %eax
        ret
1:      mov $16, %ecx
2:      loop 2b
        and $-16, %rsp
        call reached
        .size labelled, .-labelled
        .type labelled_pusher, @function
labelled_pusher:
        lea 3f(%rip), %rax
        push %rax
        pop %rax
        ret
3:      mov $16, %ecx
4:      loop 4b
        and $-16, %rsp
        call reached
        .size labelled_pusher, .-labelled_pusher
        .section .data.rel.ro, "aw"
labels_in_data: .quad 1b
        .section .rodata
pushed_label: .long 3b - labelled_pusher
        .text
)");

[[gnu::noinline]] void jump_to_label_of_another() {
  asm volatile("jmp *%0" : : "r"(labels_in_data[0]));
}

// As an exception of OCaml would be thrown, to a handler of a function that has returned.
[[gnu::noinline]] void context_to_closed_label() {
  labelled_pusher();
  const Word label = reinterpret_cast<Word>(&labelled_pusher) + pushed_label;
  const Word words[] = {1, 2};
  corrupt_context(label, words, 2);
}

// --- the program's entry point, a second time ---

extern "C" void _start();
[[gnu::noinline]] void jmpbuf_to_entry() {
  static char name[] = "hijacks", form[] = "none";
  static Word stack[8192];
  Word* top = stack + std::size(stack) - 64;
  const Word arguments[] = {
      2, reinterpret_cast<Word>(name), reinterpret_cast<Word>(form), 0, 0, 0, 0, 0};
  std::memcpy(top, arguments, sizeof arguments);
  jmp_buf buffer;
  if (setjmp(buffer) != 0) return;
  constexpr std::size_t kSavedSp = 6;
  using Saved = std::remove_reference_t<decltype(buffer[0].__jmpbuf[0])>;
  buffer[0].__jmpbuf[kSavedSp] = static_cast<Saved>(mangled(reinterpret_cast<Word>(top)));
  buffer[0].__jmpbuf[kSavedPc] = static_cast<Saved>(mangled(address(_start)));
  longjmp(buffer, 1);
}

// --- a register that holds a slot's value ---

// Calls setuid by a slot that it holds in a register, and then what its argument says.
extern "C" int holds_slot(uid_t user, int (*const* then)(uid_t));
asm(R"(
        .text
        .type holds_slot, @function
holds_slot:
        push %rbx
        push %r12
        push %r13
        mov %rsi, %r12
        mov %edi, %r13d
        mov setuid@GOTPCREL(%rip), %rbx
        call *%rbx
        mov %r13d, %edi
        call *(%r12)
        pop %r13
        pop %r12
        pop %rbx
        ret
        .size holds_slot, .-holds_slot
)");
[[gnu::noinline]] void pointer_beside_held_slot() {
  static int (*corrupted)(uid_t) = nullptr;
  corrupted = &setuid;
  holds_slot(getuid(), &corrupted);
  reached();
}

// The program asks for a function by its name, and calls it through the place where it keeps it:
// another place has no right to hold it, and this one none to hold another function.
using SetUser = int (*)(uid_t);
SetUser asked;
SetUser not_asked;
[[gnu::noinline]] void ask() {
  asked = reinterpret_cast<SetUser>(dlsym(RTLD_DEFAULT, "setuid"));
  if (asked == nullptr || asked(getuid()) != 0) std::abort();
}
// A name that the text does not tie to a place.
[[gnu::noinline]] void* address_of(const char* name) { return dlsym(RTLD_DEFAULT, name); }
[[gnu::noinline]] void overwrite(volatile SetUser* place, const char* name) {
  *place = reinterpret_cast<SetUser>(address_of(name));
}
[[gnu::noinline]] void pointer_beside_asked() {
  ask();
  overwrite(&not_asked, "setuid");
  if (not_asked(getuid()) == 0) reached();
}
[[gnu::noinline]] void asked_pointer_to_another() {
  ask();
  overwrite(&asked, "setgid");
  if (asked(getgid()) == 0) reached();
}

// A pointer in the function's own frame, where the text always stores one function, or one of two.
[[gnu::noinline]] void pointer_in_frame_to_another() {
  volatile SetUser kept = &setgid;
  overwrite(&kept, "setuid");
  if (kept(getuid()) == 0) reached();
}
[[gnu::noinline]] int harmless(uid_t id) { return static_cast<int>(id) + 1; }
[[gnu::noinline]] void pointer_in_frame_to_other_choice() {
  volatile SetUser kept = &harmless;
  if (getppid() < 0) kept = &setuid;
  overwrite(&kept, "setuid");
  if (kept(getuid()) == 0) reached();
}

// A wrapper of the name of a function of libc's gives that to another function as an argument;
// this function, which it does not call, has no right to call it by a pointer.
using SetGroup = int (*)(gid_t);
[[gnu::noinline]] int given(SetGroup real, gid_t id) { return real(id) + 1; }
extern "C" [[gnu::noinline]] int setegid(gid_t id) noexcept {
  return given(reinterpret_cast<SetGroup>(dlsym(RTLD_NEXT, "setegid")), id) - 1;
}
[[gnu::noinline]] void pointer_beside_wrapper() {
  static volatile SetGroup corrupted;
  corrupted = reinterpret_cast<SetGroup>(address_of("setegid"));
  if (setegid(getegid()) == 0 && corrupted(getegid()) == 0) reached();
}

// --- slots ---

// Where the C library keeps which strlen it has chosen for its own calls.
[[gnu::noinline]] void library_chooses_another() {
  const auto chosen = reinterpret_cast<Word>(&strlen);
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    Word begin = 0;
    Word end = 0;
    char rights[5];
    const bool library = std::strstr(line, "libc.so") != nullptr;
    if (!library || std::sscanf(line, "%lx-%lx %4s", &begin, &end, rights) != 3) continue;
    if (rights[0] != 'r' || rights[2] == 'x') continue;
    for (auto* word = reinterpret_cast<Word*>(begin); word < reinterpret_cast<Word*>(end); ++word) {
      if (*word != chosen) continue;
      // Debian 13's C library has its slots where the loader takes away the right to write.
      constexpr Word kPageSize = 4096;
      mprotect(reinterpret_cast<void*>(reinterpret_cast<Word>(word) & ~(kPageSize - 1)), kPageSize,
               PROT_READ | PROT_WRITE);
      *word = reinterpret_cast<Word>(&forged_getppid);
    }
  }
  std::puts("a word");
}

// Each stub of the program's PLT is called so by name somewhere; this slot is another one's.
[[gnu::noinline]] void slot_to_stub() {
  Word* slot = nullptr;
  Word stub = 0;
  asm("lea getppid@GOTPCREL(%%rip), %0; lea getpid@PLT(%%rip), %1" : "=r"(slot), "=r"(stub));
  *slot = stub;
  if (getppid() == getpid()) reached();
}

// --- coroutines that are left at one place ---

ucontext_t main_context, coroutines[2];
Word* saved_return[2];
int running;

[[gnu::noinline]] void leave_coroutine() { swapcontext(&coroutines[running], &main_context); }
[[gnu::noinline]] void run_coroutine() {
  saved_return[running] = static_cast<Word*>(__builtin_frame_address(0)) + 1;
  leave_coroutine();
}
void coroutine() {
  run_coroutine();
  run_coroutine();
}
// While it is left, the return address of a call that is open in it is overwritten.
void coroutine_overwritten(Word target) {
  static char stacks[2][65536];
  for (running = 0; running < 2; ++running) {
    getcontext(&coroutines[running]);
    coroutines[running].uc_stack.ss_sp = stacks[running];
    coroutines[running].uc_stack.ss_size = sizeof stacks[running];
    makecontext(&coroutines[running], coroutine, 0);
    swapcontext(&main_context, &coroutines[running]);
  }
  running = 0;
  *saved_return[0] = target;
  saved_return[0][1] = inside(host_call);
  saved_return[0][2] = inside(host_call);
  swapcontext(&main_context, &coroutines[0]);
}
void coroutine_inside() { coroutine_overwritten(inside(host_call)); }
void coroutine_behind_call() { coroutine_overwritten(inside(host_called_pop)); }
void coroutine_to_function() { coroutine_overwritten(address(reached)); }

// --- returns whose targets the text puts there ---

// Returns to their argument: pushed; put in place of the return address, behind POPF too; on a
// stack that the text moves, or has moved before a jump. A function that begins with a NOP, one
// that nothing in this file has the address of, and one with a table of its own.
extern "C" {
void pushed_return(Word);
void stored_return(Word);
void flags_return(Word);
void moved_return(Word);
void left_out_return(Word);
void jumped_return(Word);
void begins_with_nop();
void has_table(int);
void no_pointer();
extern const std::uint32_t table_label, no_pointer_distance, global_distance;
}
asm(R"(
        .text
        .type pushed_return, @function
pushed_return:
        push %rdi
        ret
        .size pushed_return, .-pushed_return
        .type stored_return, @function
stored_return:
        mov %rdi, (%rsp)
        ret
        .size stored_return, .-stored_return
        .type flags_return, @function
flags_return:
        mov %rdi, (%rsp)
        pushfq
        popfq
        ret
        .size flags_return, .-flags_return
        .type moved_return, @function
moved_return:
        mov %rdi, (%rsp)
        xor %eax, %eax
        add %rax, %rsp
        ret
        .size moved_return, .-moved_return
        .type left_out_return, @function
left_out_return:
        mov %rdi, (%rsp)
        mov %rsp, %rax
        test %rax, %rax
        je 8f
        mov %rax, %rsp
8:      ret
        .size left_out_return, .-left_out_return
        .type jumped_return, @function
jumped_return:
        mov %rdi, (%rsp)
        mov %rsp, %rax
        mov %rax, %rsp
        jmp 9f
        nop
9:      ret
        .size jumped_return, .-jumped_return
        .type begins_with_nop, @function
begins_with_nop:
        nop
        mov $16, %ecx
5:      loop 5b
        and $-16, %rsp
        call reached
        .size begins_with_nop, .-begins_with_nop
        .type has_table, @function
has_table:
        .cfi_startproc
        cmp $1, %edi
        ja 3f
        lea 4f(%rip), %rdx
        movslq (%rdx, %rdi, 4), %rax
        add %rdx, %rax
        jmp *%rax
1:      ret
2:      mov $16, %ecx
6:      loop 6b
        and $-16, %rsp
        call reached
3:      ret
        .cfi_endproc
        .size has_table, .-has_table
        .type no_pointer, @function
        .balign 16
no_pointer:
        .cfi_startproc
        mov $16, %ecx
7:      loop 7b
        and $-16, %rsp
        call reached
        .cfi_endproc
        .size no_pointer, .-no_pointer
        .type global, @function
        .globl global
        .balign 16
global:
        .cfi_startproc
        mov $16, %ecx
8:      loop 8b
        and $-16, %rsp
        call reached
        .cfi_endproc
        .size global, .-global
        .section .rodata
        .balign 4
4:      .long 1b - 4b
        .long 2b - 4b
table_label: .long 2b - has_table
no_pointer_distance: .long no_pointer - host
global_distance: .long global - host
        .text
)");
Word word_of_no_pointer() { return inside(no_pointer_distance); }

void pushed_inside() { pushed_return(inside(host_call)); }
void pushed_untaken() { pushed_return(word_of_no_pointer()); }
void stored_inside() { stored_return(inside(host_call)); }
void stored_untaken() { stored_return(word_of_no_pointer()); }
void flags_inside() { flags_return(inside(host_call)); }
void moved_inside() { moved_return(inside(host_call)); }
void left_out_inside() { left_out_return(inside(host_call)); }
void jumped_inside() { jumped_return(inside(host_call)); }
void jumped_untaken() { jumped_return(word_of_no_pointer()); }
// What __builtin_setjmp kept: the frame pointer, where to go on, and the stack pointer.
void* kept_place[5];
[[gnu::noinline]] void jump_to_kept_place() { __builtin_longjmp(kept_place, 1); }
[[gnu::noinline]] void overwrite_kept_place(Word target) {
  if (__builtin_setjmp(kept_place) != 0) return;
  kept_place[1] = reinterpret_cast<void*>(target);
  jump_to_kept_place();
}
void kept_place_inside() { overwrite_kept_place(inside(host_call)); }
void kept_place_behind_call() { overwrite_kept_place(inside(host_called_end)); }
void kept_place_untaken() { overwrite_kept_place(word_of_no_pointer()); }
[[gnu::noinline]] void behind_nop() {
  const Word words[] = {reinterpret_cast<Word>(&begins_with_nop) + 1};
  smash(words, 1);
}
[[gnu::noinline]] void label_in_table_of_another() {
  has_table(0);
  asm volatile("jmp *%0" : : "r"(reinterpret_cast<Word>(&has_table) + table_label));
}
// A jump enters the function that a pointer leads to behind what stands at its start.
extern "C" void enter_behind_start(Word pointer);
extern "C" void skips_start();
extern "C" void skipped_start();
asm(R"(
        .text
        .type enter_behind_start, @function
enter_behind_start:
        .cfi_startproc
        add $1f - skips_start, %rdi
        jmp *%rdi
        .cfi_endproc
        .size enter_behind_start, .-enter_behind_start
        .type skips_start, @function
        .balign 16
skips_start:
        .cfi_startproc
        mov $0, %rdi
1:      ret
        .cfi_endproc
        .size skips_start, .-skips_start
        .type skipped_start, @function
        .balign 16
skipped_start:
        .cfi_startproc
        mov $1, %rdi
        and $-16, %rsp
        call reached
        .cfi_endproc
        .size skipped_start, .-skipped_start
)");
void behind_start_inside() {
  enter_behind_start(reinterpret_cast<Word>(&skips_start));
  constexpr Word kAdded = 7;
  enter_behind_start(inside(host_call) - kAdded);
}
void behind_start_of_another() { enter_behind_start(reinterpret_cast<Word>(&skipped_start)); }
// A function whose handler the program's own tables know, if any: it takes its frame up again.
extern "C" void has_handler(void (*called)());
asm(R"(
        .text
        .type has_handler, @function
        .balign 16
has_handler:
        .cfi_startproc
        push %rbp
        mov %rsp, %rbp
        sub $16, %rsp
        call *%rdi
        leave
        ret
        lea -16(%rbp), %rsp
        and $-16, %rsp
        call reached
        .cfi_endproc
        .size has_handler, .-has_handler
)");
void to_handler() {
  constexpr Word kHandler = 12;
  asm volatile("mov %%rsp, %%rbp; jmp *%0"
               :
               : "r"(reinterpret_cast<Word>(&has_handler) + kHandler));
}
void to_handler_of_open() { has_handler(to_handler); }
void context_to_untaken() {
  const Word words[] = {1, 2};
  corrupt_context(word_of_no_pointer(), words, 2);
}
// The same, of one that is not static, but that other files cannot ask for.
void context_to_global() {
  const Word words[] = {1, 2};
  corrupt_context(inside(global_distance), words, 2);
}

// A jump of somebody else's where the kernel's page (vDSO) is entered.
void kernel_page_hooked() {
  const Word page = getauxval(AT_SYSINFO_EHDR);
  if (page == 0) return;
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(page);
  const auto* segment = reinterpret_cast<const Elf64_Phdr*>(page + header->e_phoff);
  while (segment->p_type != PT_DYNAMIC) ++segment;
  const auto* entry = reinterpret_cast<const Elf64_Dyn*>(page + segment->p_offset);
  while (entry->d_tag != DT_SYMTAB) ++entry;
  const auto* symbol = reinterpret_cast<const Elf64_Sym*>(page + entry->d_un.d_ptr);
  while (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC) ++symbol;
  const Word function = page + symbol->st_value;
  constexpr Word kPage = 4096;
  mprotect(reinterpret_cast<void*>(function / kPage * kPage), 2 * kPage,
           PROT_READ | PROT_WRITE | PROT_EXEC);
  unsigned char jump[] = {0x48, 0xb8, 0, 0, 0,    0,
                          0,    0,    0, 0, 0xff, 0xe0};  // mov $.., %rax; jmp *%rax
  const Word target = address(reached);
  std::memcpy(jump + 2, &target, sizeof target);
  std::memcpy(reinterpret_cast<void*>(function), jump, sizeof jump);
  reinterpret_cast<Function>(function)();
}

void leave_for_no_pointer(int, siginfo_t*, void* context) {
  auto& rip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  rip = static_cast<greg_t>(word_of_no_pointer());
}
void raise_handled_by(void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
}
void handler_to_untaken() { raise_handled_by(leave_for_no_pointer); }

// A label that is written down, of a function that has no open call.
void leave_for_label_of_another(int, siginfo_t*, void* context) {
  auto& rip = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  rip = static_cast<greg_t>(labels_in_data[0]);
}
void handler_to_label() { raise_handled_by(leave_for_label_of_another); }

// A label of the function itself, but not the one that was meant: nothing can tell.
[[gnu::noinline]] void label_of_its_own() {
  static void* const kLabels[] = {&&meant, &&other};
  void* const* volatile label = kLabels;
  label = label + 1;
  goto** label;
meant:
  return;
other:
  reached();
}

// --- calls with data behind them ---

// Functions that go on where their argument says, as others do behind data that lies behind their
// call: by a jump, or by what they add to their return address. One with data behind such a call,
// and an ordinary one whose return address is changed so that it skips what its caller makes of its
// answer. A context that is left in a call, and goes on as if data were behind it.
extern "C" {
void takes_and_jumps(Word);
void adds_to_return(Word);
void has_data_behind();
void skips_a_check();
void leaves_context(ucontext_t* from, const ucontext_t* to);
}
asm(R"(
        .text
        .type takes_and_jumps, @function
takes_and_jumps:
        pop %rax
        jmp *%rdi
        .size takes_and_jumps, .-takes_and_jumps
        .type adds_to_return, @function
adds_to_return:
        sub (%rsp), %rdi
        add %rdi, (%rsp)
        ret
        .size adds_to_return, .-adds_to_return
        .type has_data_behind, @function
has_data_behind:
        push %rbx
        lea 1f(%rip), %rdi
        call adds_to_return
        .long 0
        pop %rbx
        ret
1:      mov $16, %ecx
2:      loop 2b
        and $-16, %rsp
        call reached
        .size has_data_behind, .-has_data_behind
        .type overflows, @function
overflows:
        addq $2, (%rdi)
        ret
        .size overflows, .-overflows
        .type skips_a_check, @function
skips_a_check:
        push %rbx
        lea -8(%rsp), %rdi
        call overflows
        jmp 3f
1:      mov $16, %ecx
2:      loop 2b
        and $-16, %rsp
        call reached
3:      pop %rbx
        ret
        .size skips_a_check, .-skips_a_check
        .type leaves_context, @function
leaves_context:
        push %rbx
        test %rdi, %rdi
        je 1f
        call swapcontext@PLT
        jmp 3f
1:      mov $16, %ecx
2:      loop 2b
        and $-16, %rsp
        call reached
3:      pop %rbx
        ret
        .size leaves_context, .-leaves_context
)");
void argument_inside() { adds_to_return(inside(host_call)); }
void argument_jumped() { takes_and_jumps(inside(host_call)); }
void argument_elsewhere() { has_data_behind(); }  // nothing can tell

void leaving_coroutine() { leaves_context(&coroutines[0], &main_context); }
void context_behind_code() {
  static char stack[65536];
  getcontext(&coroutines[0]);
  coroutines[0].uc_stack.ss_sp = stack;
  coroutines[0].uc_stack.ss_size = sizeof stack;
  makecontext(&coroutines[0], leaving_coroutine, 0);
  swapcontext(&main_context, &coroutines[0]);
  coroutines[0].uc_mcontext.gregs[REG_RIP] += 2;
  swapcontext(&main_context, &coroutines[0]);
}

// The context that a handler was given, and by which it ends, leads elsewhere.
void leave_by_context(int, siginfo_t*, void* context) {
  static ucontext_t forged;
  getcontext(&forged);
  const fpregset_t words = forged.uc_mcontext.fpregs;  // the kernel's are not behind its context
  forged.uc_mcontext = static_cast<ucontext_t*>(context)->uc_mcontext;
  forged.uc_mcontext.fpregs = words;
  forged.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(inside(host_call));
  setcontext(&forged);
}
void context_of_handler() {
  struct sigaction action{};
  action.sa_sigaction = leave_by_context;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
}

// --- a handler that goes on in what it interrupted, and an address that the text adds to ---

// A function that is interrupted and has a label, to which a handler jumps on a stack that it was
// given; and one that calls some way behind what the file's slot holds.
extern "C" {
void faults();
extern const Word label_of_fault[];
void calls_behind_slot();
extern Word slot_of_getpid;
}
asm(R"(
        .text
        .type faults, @function
faults:
        push %rbx
        ud2
1:      pop %rbx
        ret
        .size faults, .-faults
        .type calls_behind_slot, @function
calls_behind_slot:
        push %rbx
        mov slot_of_getpid(%rip), %r11
        lea 1(%r11), %r11
        call *%r11
        pop %rbx
        ret
        .size calls_behind_slot, .-calls_behind_slot
        .section .data.rel.ro, "aw"
label_of_fault: .quad 1b
        .data
slot_of_getpid: .quad getpid
        .text
)");

[[gnu::noinline]] void leave_for_label(int) {
  static Word stack[8192];
  Word* top = stack + std::size(stack) - 64;
  top[1] = inside(host_call);
  asm volatile("mov %0, %%rsp\n jmp *%1" : : "r"(top), "r"(label_of_fault[0]));
}
void label_of_interrupted() {
  signal(SIGILL, leave_for_label);
  faults();
}

void behind_slot_elsewhere() {
  slot_of_getpid = inside(host_call) - 1;
  calls_behind_slot();
}
