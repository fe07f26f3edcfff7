#include "glue.h"

#include <cstddef>

#include "area_code.h"
#include "cache.h"
#include "code_pages.h"
#include "thread_area.h"
#include "translate.h"

namespace hodo::engine {

// What glue_check knows of it.
static_assert(offsetof(CodeCheck, ip) == 0 && offsetof(CodeCheck, resume) == 8 &&
              offsetof(CodeCheck, bytes) == 16 && sizeof(CodeCheck) == 24);

// The labels below are the functions that glue.h declares; this one only gives the assembler the
// offsets.
[[gnu::naked, gnu::used]] void glue_code() {
  asm volatile(
      R"(
    .macro save_registers
      movq %%rbx, %c[rbx](%%r10)
      movq %%rbp, %c[rbp](%%r10)
      movq %%rsi, %c[rsi](%%r10)
      movq %%rdi, %c[rdi](%%r10)
      movq %%r8, %c[r8](%%r10)
      movq %%r9, %c[r9](%%r10)
      movq %%r12, %c[r12](%%r10)
      movq %%r13, %c[r13](%%r10)
      movq %%r14, %c[r14](%%r10)
      movq %%r15, %c[r15](%%r10)
      movq %%r11, %c[outcomes](%%r10)
      movq %%rsp, %c[rsp](%%r10)
      movq %c[stack](%%r10), %%rsp
      pushfq
      popq %c[flags](%%r10)
      cld
      movq %%r10, %%rbx
      movq %%r10, %%rdi
    .endm
    // RAX has been spilled; the others that a sequence uses are as they were.
    .macro save_rax_spilled
      movq %%rcx, %c[rcx](%%r10)
      movq %%rdx, %c[rdx](%%r10)
      movq %c[spill0](%%r10), %%rcx
      movq %%rcx, %c[rax](%%r10)
    .endm
    .macro save_two_spilled
      movq %%rdx, %c[rdx](%%r10)
      movq %c[spill0](%%r10), %%rdx
      movq %%rdx, %c[rax](%%r10)
      movq %c[spill1](%%r10), %%rdx
      movq %%rdx, %c[rcx](%%r10)
    .endm

    .globl glue_begin, glue_end
    .globl glue_exit, glue_flush, glue_miss, glue_return, glue_resume
    glue_begin:
    glue_exit:
      save_rax_spilled
      save_registers
      movl %%eax, %%esi
      call engine_exit
      jmp glue_resume_rbx

    glue_flush:
      save_rax_spilled
      save_registers
      movl %%eax, %%esi
      call engine_flush
      jmp glue_resume_rbx

    .globl glue_full
    glue_full:
      movq %%rcx, %c[spill1](%%r10)
      movq %c[cursor](%%r10), %%rcx
      shlq $16, %%r11
      orq $0xa302, %%r11
      movq %%r11, (%%rcx)
      movl $1, %%r11d
      addq $8, %%rcx
      movq %%rcx, %c[cursor](%%r10)
      cmpq %c[limit](%%r10), %%rcx
      movq %c[spill1](%%r10), %%rcx
      movq %%rax, %c[next](%%r10)
      jae 2f
      movq %c[spill0](%%r10), %%rax
      jmp *%c[next](%%r10)
    2:
      save_rax_spilled
      save_registers
      call engine_flush_head
      jmp glue_resume_rbx

    // CRC32 and probes; what is found is the first one next time.
    glue_miss:
      movq %%rsp, %c[rsp](%%r10)
      movq %c[stack](%%r10), %%rsp
      pushfq
      movq %%rdx, %c[spill2](%%r10)
      xorl %%edx, %%edx
      crc32q %%rax, %%rdx
      movzwl %%dx, %%edx
      addl %%edx, %%edx
      movq %c[targets](%%r10), %%rcx
      leaq (%%rcx,%%rdx,8), %%rdx
      movl $%c[probes], %%ecx
      negq %%rax
    3:
      cmpq %%rax, (%%rdx)
      je 4f
      addq $16, %%rdx
      decl %%ecx
      jnz 3b
      negq %%rax
      popfq
      movq %c[spill2](%%r10), %%rdx
      movq %c[rsp](%%r10), %%rsp
      save_two_spilled
      save_registers
      movq %%rax, %%rsi
      call engine_miss
      jmp glue_resume_rbx
    4:
      negq %%rax
      movq 8(%%rdx), %%rcx
      testq %%rcx, %%rcx
      jz 5f
      xorl %%edx, %%edx
      crc32q %%rax, %%rdx
      movzwl %%dx, %%edx
      shll $3, %%edx
      addq %c[landings](%%r10), %%rdx
      movq %%rcx, (%%rdx)
    5:
      popfq
      movq %c[spill2](%%r10), %%rdx
      movq %c[rsp](%%r10), %%rsp
      jmp *%%rcx

    glue_return:
      save_two_spilled
      save_registers
      movq %%rax, %%rsi
      movq %%rcx, %%rdx
      call engine_return
      jmp glue_resume_rbx

    .macro call_keeping called:vararg
      pushfq
      pushq %%rcx
      pushq %%rdx
      pushq %%rsi
      pushq %%rdi
      pushq %%r8
      pushq %%r9
      pushq %%r10
      pushq %%r11
      cld
      movl %%eax, %%esi
      movq %%r10, %%rdi
      call \called
      popq %%r11
      popq %%r10
      popq %%r9
      popq %%r8
      popq %%rdi
      popq %%rsi
      popq %%rdx
      popq %%rcx
    .endm

    // A signal that came in the C++ code is delivered at the next instruction: by EFLAGS.TF.
    .globl glue_block, glue_block_keep
    glue_block:
      call_keeping *%c[on_block](%%r10)
      cmpl $0, %c[waits](%%r10)
      jne 6f
      testl $0x40500, (%%rsp)
      jnz 7f
      leaq 8(%%rsp), %%rsp
      ret
    .globl glue_x87
    glue_x87:
      call_keeping engine_name_x87_place
      jmp 5f
    glue_block_keep:
      call_keeping *%c[on_block](%%r10)
    5:
      cmpl $0, %c[waits](%%r10)
      je 7f
    6:
      orl $0x100, (%%rsp)
    7:
      popfq
      ret

    .globl glue_check, glue_check_compare, glue_check_changed, glue_check_end, glue_check_begin
    glue_check:
      movq %%rsp, %c[rsp](%%r10)
      movq %c[stack](%%r10), %%rsp
      pushfq
      cld
      pushq %%rcx
      pushq %%rsi
      pushq %%rdi
      pushq %%rdx
      movq (%%rax), %%rsi
      movl 16(%%rax), %%ecx
      leaq 24(%%rax), %%rdi
      cmpl $8, %%ecx
      jb glue_check_compare
    // Eight bytes at a time from the end, at last those at the beginning, which may overlap.
    glue_check_end:
      movq -8(%%rsi,%%rcx), %%rdx
      cmpq -8(%%rdi,%%rcx), %%rdx
      jne glue_check_changed
      subl $8, %%ecx
      cmpl $8, %%ecx
      jae glue_check_end
    glue_check_begin:
      movq (%%rsi), %%rdx
      cmpq (%%rdi), %%rdx
      jne glue_check_changed
      jmp glue_check_same
    glue_check_compare:
      repe cmpsb
      jne glue_check_changed
    glue_check_same:
      popq %%rdx
      popq %%rdi
      popq %%rsi
      popq %%rcx
      popfq
      movq %c[rsp](%%r10), %%rsp
      movq 8(%%rax), %%rax
      movq %%rax, %c[next](%%r10)
      movq %c[spill0](%%r10), %%rax
      jmp *%c[next](%%r10)
    glue_check_changed:
      popq %%rdx
      popq %%rdi
      popq %%rsi
      popq %%rcx
      popfq
      movq %c[rsp](%%r10), %%rsp
      save_rax_spilled
      save_registers
      movl %%eax, %%esi
      call engine_changed

    glue_resume_rbx:
      movq %%rbx, %%r10
    glue_resume:
      movq %c[outcomes](%%r10), %%r11
      pushq %c[flags](%%r10)
      popfq
      movq %c[rsp](%%r10), %%rsp
      movq %c[rax](%%r10), %%rax
      movq %c[rcx](%%r10), %%rcx
      movq %c[rdx](%%r10), %%rdx
      movq %c[rbx](%%r10), %%rbx
      movq %c[rbp](%%r10), %%rbp
      movq %c[rsi](%%r10), %%rsi
      movq %c[rdi](%%r10), %%rdi
      movq %c[r8](%%r10), %%r8
      movq %c[r9](%%r10), %%r9
      movq %c[r12](%%r10), %%r12
      movq %c[r13](%%r10), %%r13
      movq %c[r14](%%r10), %%r14
      movq %c[r15](%%r10), %%r15
      jmp *%c[next](%%r10)
    glue_end:

    // Functions of the C++ code.
    .macro load_arguments area
      movq %c[rax](\area), %%rax
      movq %c[rdi](\area), %%rdi
      movq %c[rsi](\area), %%rsi
      movq %c[rdx](\area), %%rdx
      movq %c[taken](\area), %%r10
      movq %c[r8](\area), %%r8
      movq %c[r9](\area), %%r9
    .endm

    .globl glue_syscall, glue_syscall_check, glue_syscall_done, glue_syscall_interrupted
    glue_syscall:
      pushq %%rbx
      movq %%rdi, %%rbx
      load_arguments %%rbx
    glue_syscall_check:
      cmpl $0, %c[waits](%%rbx)
      jne glue_syscall_interrupted
      syscall
    glue_syscall_done:
      popq %%rbx
      ret
    glue_syscall_interrupted:
      movabsq $0x8000000000000000, %%rax
      popq %%rbx
      ret

    .globl glue_clone, glue_clone_done
    glue_clone:
      pushq %%rbx
      pushq %%r12
      movq %%rdi, %%rbx
      movq %%rsi, %%r12
      load_arguments %%rbx
      syscall
    glue_clone_done:
      testq %%rax, %%rax
      jz 5f
      popq %%r12
      popq %%rbx
      ret
    5:
      movq %c[stack](%%r12), %%rsp
      xorl %%ebp, %%ebp
      movq %%r12, %%rdi
      call engine_child
      movq %%r12, %%r10
      jmp glue_resume

    .globl glue_exit_thread, glue_exit_refused
    glue_exit_thread:
      movl %%edi, %%eax
      movl %%esi, %%edi
      movb $0, (%%rdx)
      syscall
    glue_exit_refused:
      hlt

    .globl glue_native, glue_native_return
    glue_native:
      movq %%rdi, %%r10
      movq %c[stack](%%r10), %%rsp
      pushq $0x2b
      pushq %c[rsp](%%r10)
      pushq %c[flags](%%r10)
      pushq $0x33
      pushq %c[ip](%%r10)
      movq %c[rax](%%r10), %%rax
      movq %c[rcx](%%r10), %%rcx
      movq %c[rdx](%%r10), %%rdx
      movq %c[rbx](%%r10), %%rbx
      movq %c[rbp](%%r10), %%rbp
      movq %c[rsi](%%r10), %%rsi
      movq %c[rdi](%%r10), %%rdi
      movq %c[r8](%%r10), %%r8
      movq %c[r9](%%r10), %%r9
      movq %c[r12](%%r10), %%r12
      movq %c[r13](%%r10), %%r13
      movq %c[r14](%%r10), %%r14
      movq %c[r15](%%r10), %%r15
      movq %c[taken]+8(%%r10), %%r11
      movq %c[taken](%%r10), %%r10
    glue_native_return:
      iretq

    .globl glue_interrupt, glue_interrupt_done
    glue_interrupt:
      int $0x80
    glue_interrupt_done:
      int3

    .globl glue_restore_context, glue_restorer
    glue_restore_context:
      movq %%rdi, %%rsp
    glue_restorer:
      movl $15, %%eax
      syscall
      hlt

    .globl glue_copy, glue_copy_insn, glue_copy_failed
    glue_copy:
      movq %%rdx, %%rcx
    glue_copy_insn:
      rep movsb
      movl $1, %%eax
      ret
    glue_copy_failed:
      xorl %%eax, %%eax
      ret
  )" ::[rax] "i"(offsetof(ThreadArea, registers.rax)),
      [rcx] "i"(offsetof(ThreadArea, registers.rcx)),
      [rdx] "i"(offsetof(ThreadArea, registers.rdx)),
      [rbx] "i"(offsetof(ThreadArea, registers.rbx)),
      [rsp] "i"(offsetof(ThreadArea, registers.rsp)),
      [rbp] "i"(offsetof(ThreadArea, registers.rbp)),
      [rsi] "i"(offsetof(ThreadArea, registers.rsi)),
      [rdi] "i"(offsetof(ThreadArea, registers.rdi)), [r8] "i"(offsetof(ThreadArea, registers.r8)),
      [r9] "i"(offsetof(ThreadArea, registers.r9)), [r15] "i"(offsetof(ThreadArea, registers.r15)),
      [r12] "i"(offsetof(ThreadArea, registers.r12)),
      [r13] "i"(offsetof(ThreadArea, registers.r13)),
      [r14] "i"(offsetof(ThreadArea, registers.r14)),
      [flags] "i"(offsetof(ThreadArea, registers.flags)),
      [outcomes] "i"(offsetof(ThreadArea, outcomes)),
      [stack] "i"(offsetof(ThreadArea, engine_stack)), [spill0] "i"(offsetof(ThreadArea, spill)),
      [spill1] "i"(offsetof(ThreadArea, spill) + 8), [spill2] "i"(offsetof(ThreadArea, spill) + 16),
      [on_block] "i"(offsetof(ThreadArea, on_block)), [next] "i"(offsetof(ThreadArea, next)),
      [taken] "i"(offsetof(ThreadArea, taken)), [ip] "i"(offsetof(ThreadArea, ip)),
      [waits] "i"(offsetof(ThreadArea, waits)), [cursor] "i"(kCursor), [limit] "i"(kLimit),
      [targets] "i"(offsetof(ThreadArea, indirect_targets)),
      [landings] "i"(offsetof(ThreadArea, first_landings)), [probes] "i"(kProbes));
}

}  // namespace hodo::engine
