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
