// Forms of `hijacks` that change what the kernel, the dynamic linker and the unwinder go by. For
// x86-64, included by hijacks.cc into its namespace.

// --- text of the file mapped over other text of it ---

extern "C" {
void mapped_away(Function);
void mapped_over(Function);
}
asm(R"(
        .text
        .balign 4096
        .type mapped_away, @function
mapped_away: ret
        .size mapped_away, .-mapped_away
        .balign 4096
        .type mapped_over, @function
mapped_over: jmp *%rdi
        .size mapped_over, .-mapped_over
        .balign 4096
)");

// A direct call leads to the place where other text is.
[[gnu::noinline]] void page_mapped_over() {
  Dl_info file{};
  dladdr(reinterpret_cast<void*>(&mapped_over), &file);
  const auto* start = static_cast<const char*>(file.dli_fbase);
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(start);
  const auto* segment = reinterpret_cast<const Elf64_Phdr*>(start + header->e_phoff);
  const Word distance =
      address(reinterpret_cast<Function>(&mapped_over)) - reinterpret_cast<Word>(start);
  while (distance - segment->p_vaddr >= segment->p_memsz || segment->p_type != PT_LOAD) ++segment;
  const int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  mmap(reinterpret_cast<void*>(&mapped_away), 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
       self, static_cast<off_t>(distance - segment->p_vaddr + segment->p_offset));
  mapped_away(&reached);
}

// The same by moving that page, so that no file is mapped.
void page_moved_over() {
  constexpr std::size_t kPage = 4096;
  mremap(reinterpret_cast<void*>(&mapped_over), kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED,
         reinterpret_cast<void*>(&mapped_away));
  mapped_away(&reached);
}

// A copy of the C library in which one function is another lies over all of its text: no branch
// leads from one to the other but by pointers.
[[gnu::noinline]] void library_mapped_over() {
  Dl_info file{};
  dladdr(dlsym(RTLD_DEFAULT, "getppid"), &file);
  const auto* start = static_cast<const char*>(file.dli_fbase);
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(start);
  const auto* text = reinterpret_cast<const Elf64_Phdr*>(start + header->e_phoff);
  while (text->p_type != PT_LOAD || (text->p_flags & PF_X) == 0) ++text;
  const auto place = reinterpret_cast<Word>(file.dli_saddr) - reinterpret_cast<Word>(start);
  std::ifstream(file.dli_fname, std::ios::binary) >>
      std::ofstream("over.so", std::ios::binary).rdbuf();
  std::fstream copy("over.so", std::ios::binary | std::ios::in | std::ios::out);
  copy.seekp(static_cast<std::streamoff>(place - text->p_vaddr + text->p_offset));
  copy.write("\xb8\x5a\x5a\x00\x00\xc3", 6);  // mov eax, 0x5a5a; ret
  copy.close();
  const int over = open("over.so", O_RDONLY | O_CLOEXEC);
  register long flags asm("r10") = MAP_PRIVATE | MAP_FIXED;
  register long descriptor asm("r8") = over;
  register long offset asm("r9") = static_cast<long>(text->p_offset);
  long result = SYS_mmap;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(start + text->p_vaddr), "S"(text->p_filesz), "d"(PROT_READ | PROT_EXEC),
                 "r"(flags), "r"(descriptor), "r"(offset)
               : "rcx", "r11", "memory");
  if (getppid() == 0x5a5a) reached();
}

// Memory that is no file's, with a copy of what it is mapped over in which a branch is turned
// round. The program makes it executable by itself, as one does that has a generator linked into
// it.
[[gnu::noinline]] void memory_over_text() {
  constexpr std::size_t kPage = 4096;
  static char copy[kPage];
  auto* const page = reinterpret_cast<void*>(page_of(check_key_branch));
  std::memcpy(copy, page, sizeof copy);
  mmap(page, sizeof copy, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  std::memcpy(page, copy, sizeof copy);
  *check_key_branch = 0x74;  // je
  mprotect(page, sizeof copy, PROT_READ | PROT_EXEC);
  if (check_key(1) != 0) reached();
}

// --- words by which a file calls the dynamic linker ---

// Where a stub asks for the function that it stands for.
[[gnu::noinline]] void resolver_changed() {
  Word* table = nullptr;
  asm("lea _GLOBAL_OFFSET_TABLE_(%%rip), %0" : "=r"(table));
  table[2] = reinterpret_cast<Word>(&forged_getppid);
  asm volatile("call getpgrp@PLT" : : : "rax", "rcx", "r11", "memory");
}

// libdescribed.so lies beside this program.
[[gnu::noinline]] void descriptor_changed() {
  void* const described = dlopen(beside("/libdescribed.so"), RTLD_NOW);
  auto* const descriptor = reinterpret_cast<Word* (*)()>(dlsym(described, "descriptor_of_kept"));
  auto* const read_kept = reinterpret_cast<int (*)()>(dlsym(described, "read_kept"));
  if (read_kept() != 7) return;
  *descriptor() = reinterpret_cast<Word>(&forged_getppid);
  read_kept();
}

// What it calls when the program ends, and where it believes that to lie.
extern "C" [[gnu::noinline, gnu::used]] void called_at_end() { reached(); }
Function volatile taken_at_end = &called_at_end;
[[gnu::noinline]] void finished_elsewhere() {
  link_map* map = nullptr;
  dlinfo(dlopen(nullptr, RTLD_NOW), RTLD_DI_LINKMAP, &map);
  static Elf64_Dyn finish{};
  finish.d_tag = DT_FINI;
  finish.d_un.d_ptr = address(taken_at_end) - map->l_addr;
  constexpr std::size_t kInfo = 64;  // l_info in struct link_map of glibc's include/link.h
  auto** const info = reinterpret_cast<Elf64_Dyn**>(reinterpret_cast<char*>(map) + kInfo);
  info[DT_FINI] = &finish;
  std::exit(0);
}

// --- returns of other kinds ---

// To their first argument: RETF, IRET with a new stack, and a return on one, where a second
// argument says what it finds there.
extern "C" {
void returns_far(Word);
void returns_with_flags(Word, Word* stack);
void returns_on(Word* stack);
}
asm(R"(
        .text
        .type returns_far, @function
returns_far:
        mov %cs, %eax
        push %rax
        push %rdi
        lretq
        .size returns_far, .-returns_far
        .type returns_with_flags, @function
returns_with_flags:
        mov %ss, %eax
        push %rax
        push %rsi
        pushfq
        mov %cs, %eax
        push %rax
        push %rdi
        iretq
        .size returns_with_flags, .-returns_with_flags
        .type returns_on, @function
returns_on:
        mov %rdi, %rsp
        ret
        .size returns_on, .-returns_on
)");
void far_to_function() { returns_far(address(reached)); }
Word stack_of_returns[4096];
void flags_and_stack_inside() { returns_with_flags(inside(host_call), stack_of_returns + 2048); }

// --- what a signal's handler returns to ---

void does_nothing(int) {}

// As sigaction(2) has it for the kernel.
struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  Word restorer;
  unsigned long mask;
};
[[gnu::noinline]] void restorer_inside() {
  constexpr unsigned long kHasRestorer = 0x04000000;
  const KernelAction action = {does_nothing, kHasRestorer, inside(host_call), 0};
  syscall(SYS_rt_sigaction, SIGUSR1, &action, nullptr, sizeof action.mask);
  raise(SIGUSR1);
}

// A frame as the kernel would have left it, and no signal: by the C library's own sigreturn.
[[gnu::noinline]] void sigreturn_by_restorer() {
  static struct {
    Word restorer;
    ucontext_t context;
  } frame;
  signal(SIGUSR1, does_nothing);
  KernelAction action{};
  syscall(SYS_rt_sigaction, SIGUSR1, nullptr, &action, sizeof action.mask);
  frame.restorer = action.restorer;
  getcontext(&frame.context);
  frame.context.uc_mcontext.fpregs = nullptr;
  auto& registers = frame.context.uc_mcontext.gregs;
  registers[REG_RIP] = static_cast<greg_t>(address(taken_at_end));
  registers[REG_RSP] = reinterpret_cast<greg_t>(stack_of_returns + 2049);
  registers[REG_CSGSFS] = 0x2b000000000033;
  returns_on(&frame.restorer);
}

// The thread goes on where it was, on another stack.
Word other_stack[4096];
void moves_stack(int, siginfo_t*, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  registers[REG_RSP] = reinterpret_cast<greg_t>(other_stack + 2048);
}
[[gnu::noinline, gnu::naked]] void traps() { asm("int3; ret"); }
[[gnu::noinline]] void signal_stack_moved() {
  struct sigaction action{};
  action.sa_sigaction = moves_stack;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, nullptr);
  other_stack[2048] = inside(host_call);
  traps();
}

// --- by which handler an exception is caught ---

Word in_another_try;
[[gnu::noinline, gnu::noipa]] void note_place() {
  in_another_try = reinterpret_cast<Word>(__builtin_return_address(0));
}
[[gnu::noinline, gnu::noipa]] void catches_by_reaching() {
  try {
    note_place();
    asm volatile("");
  } catch (...) {
    reached();
  }
}
// The unwinder takes it to be called from the other function's try block.
[[gnu::noinline, gnu::noipa]] void throws_for(Word caller) {
  auto* frame = static_cast<Word*>(__builtin_frame_address(0));
  corrupt(frame + 1, caller);
  throw 1;
}
[[gnu::noinline]] void exception_to_other_handler() {
  catches_by_reaching();
  try {
    throws_for(in_another_try);
  } catch (int) {
    return;
  }
}
