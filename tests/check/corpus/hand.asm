; Assembly by hand: a table of labels, calls through registers, arguments behind the call, tail jumps,
; functions that fall into the next, a stack of its own
        global  _start
        section .data
table:  dq      first, second, third
msg:    db      "done", 10
        section .bss
stack:  resb    4096
top:
saved:  resq    1
        section .text
_start: xor     ebx, ebx
again:  lea     rsi, [rel table]
        jmp     [rsi + rbx*8]
first:  inc     rbx
        call    inline
        db      "text behind the call", 0
        jmp     again
second: inc     rbx
        mov     [rel saved], rsp
        lea     rsp, [rel top]
        call    falls
        mov     rsp, [rel saved]
        jmp     again
third:  lea     rax, [rel print]
        call    rax
        mov     eax, 60
        xor     edi, edi
        syscall
inline: pop     rsi             ; goes on behind the text
.next:  lodsb
        test    al, al
        jnz     .next
        push    rsi
        ret
falls:  mov     ecx, 3
into:   dec     ecx
        jnz     into
        lea     rdx, [rel leave]
        jmp     rdx
leave:  ret
print:  mov     eax, 1
        mov     edi, 1
        lea     rsi, [rel msg]
        mov     edx, 5
        syscall
        ret
