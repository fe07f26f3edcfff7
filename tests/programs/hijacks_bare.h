// Forms of `hijacks` that try what the check allows to runtimes written in assembly. For x86-64,
// included by hijacks.cc into its namespace.

// --- labels that are named by their distance from a call of the next instruction ---

extern "C" {
void has_distances();
extern const std::uint32_t label_of_distance, inside_distances;
}
asm(R"(
        .text
        .type has_distances, @function
has_distances:
        .cfi_startproc
        call 1f
1:      pop %rdx
        lea 2f - 1b(%rdx), %rax
        jmp *%rax
2:      mov $16, %ecx
3:      loop 3b
4:      and $-16, %rsp
        call reached
        .cfi_endproc
        .size has_distances, .-has_distances
        .section .rodata
        .balign 4
label_of_distance: .long 2b - host
inside_distances:  .long 4b - host
        .text
)");

[[gnu::noinline]] void label_by_distance() {
  asm volatile("jmp *%0" : : "r"(inside(label_of_distance)));
}
[[gnu::noinline]] void label_by_distance_inside() {
  asm volatile("jmp *%0" : : "r"(inside(inside_distances)));
}

// --- code that neither symbols nor unwind tables cover ---

extern "C" {
void enters_bare(Word);
void opens_two();
extern const std::uint32_t joined_handler, behind_open_call;
Word return_of_bare = 0;
[[gnu::used]] void overwrite_return(Word* place) { *place = return_of_bare; }
}
asm(R"(
        .text
        .type enters_bare, @function
enters_bare:
        .cfi_startproc
        call 1f
        ret
        .cfi_endproc
        .size enters_bare, .-enters_bare
        # Where another handler ends in the one behind the jump.
1:      cmp $1, %rdi
        je 2f
        mov %rsp, %rax
        mov %rax, %rsp
        jmp *%rdi
2:      mov $16, %ecx
3:      loop 3b
        and $-16, %rsp
        call reached

        .type opens_two, @function
opens_two:
        .cfi_startproc
        call opens_one
4:      and $-16, %rsp
        call reached
        .cfi_endproc
        .size opens_two, .-opens_two
        .type opens_one, @function
opens_one:
        .cfi_startproc
        call 5f
        ret
        .cfi_endproc
        .size opens_one, .-opens_one
        # A load of RSP and a jump to a label, behind which it returns.
5:      mov %rsp, %rdi
        sub $8, %rsp
        call overwrite_return
        add $8, %rsp
        call 6f
6:      pop %rdx
        lea 7f - 6b(%rdx), %rax
        mov %rsp, %rcx
        mov %rcx, %rsp
        jmp *%rax
        int3
7:      ret
        .section .rodata
        .balign 4
joined_handler:   .long 2b - host
behind_open_call: .long 4b - host
        .text
)");

void to_joined_handler() { enters_bare(inside(joined_handler)); }
void bare_inside() { enters_bare(inside(inside_distances)); }
void behind_label_to_open_call() {
  return_of_bare = inside(behind_open_call);
  opens_two();
}
void behind_label_inside() {
  return_of_bare = inside(host_call);
  opens_two();
}
