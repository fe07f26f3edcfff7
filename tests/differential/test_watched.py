"""Branch lists derived from made-up watcher logs.

The program of most tests (64-bit, one block per line):
    A  1000..1004 jne 2000     falls to 1006
    B  2000..2008 callq 3000   falls to 200d
    C  3000..3003 retq         falls to 3004
    D  1006..1010 syscall      falls to 1012
"""

import array
import os
import tempfile
import unittest

import watched
from watched import LAST_REACHED, SIGNAL_MARK

A, B, C, D, MOV, REP, LOOP, HANDLER, STORE, IJMP = range(1, 11)
TABLE = {
    A: (0x1000, 0x1004, 0x1006, "jne 0x2000"),
    B: (0x2000, 0x2008, 0x200D, "callq 0x3000"),
    C: (0x3000, 0x3003, 0x3004, "retq"),
    D: (0x1006, 0x1010, 0x1012, "syscall"),
    MOV: (0x4000, 0x4FFD, 0x5000, "movq %rax, (%rdi)"),
    REP: (0x4000, 0x4010, 0x4012, "rep stosb %al, (%rdi)"),
    LOOP: (0x6000, 0x6004, 0x6006, "jne 0x6000"),
    HANDLER: (0x7000, 0x7002, 0x7003, "retq"),
    STORE: (0x2004, 0x2004, 0x2008, "movq %rax, (%rdi)"),
    IJMP: (0x8000, 0x8002, 0x8004, "jmpq *%rax"),
}


def done(block):
    return block | LAST_REACHED


def interrupt(ip, fault=False, signo=11):
    return [SIGNAL_MARK, signo, int(fault), ip & 0xFFFFFFFF, ip >> 32]


def derive(*words):
    blocks = {number: watched.Block(*fields) for number, fields in TABLE.items()}
    flat = []
    for word in words:
        flat.extend(word if isinstance(word, list) else [word])
    return watched.Derivation(blocks).lines(array.array("I", flat))


class Classify(unittest.TestCase):
    def test_kinds(self):
        for text, kind, target in (
            ("jne 0x10", "cond", 0x10),
            ("jrcxz 0x10", "cond", 0x10),
            ("loopne 0x10", "cond", 0x10),
            ("jmp 0x4000", "jmp", 0x4000),
            ("jmpq *%rax", "ijmp", None),
            ("notrack jmpq *%rax", "ijmp", None),
            ("bnd jmpq *0x2f75(%rip)", "ijmp", None),
            ("jmpl *%eax", "ijmp", None),
            ("callq 0x4000", "call", 0x4000),
            ("calll *0x10(%ebx)", "icall", None),
            ("repz retq ", "ret", None),
            ("retl $4", "ret", None),
            ("syscall ", "syscall", None),
            ("int $0x80", "int", None),
            ("int3 ", "int", None),
            ("movq %rax, (%rdi)", "", None),
            ("rep movsb (%rsi), (%rdi)", "", None),
            (".byte 0x48", "", None),
        ):
            with self.subTest(text):
                self.assertEqual(watched.classify(text), (kind, target))


class Steps(unittest.TestCase):
    def test_branches_in_order(self):
        lines, whole = derive(done(A), done(B), done(C), done(D))
        self.assertEqual(
            lines,
            ["begin 0 1000", "cond 1004 2000", "call 2008 3000", "ret 3003 1006", "syscall 1010 0"],
        )
        self.assertTrue(whole)

    def test_not_taken_has_no_line(self):
        self.assertEqual(derive(done(A), done(D))[0], ["begin 0 1000", "syscall 1010 0"])

    def test_system_call_ends_and_begins_again(self):
        self.assertEqual(
            derive(done(D), done(B))[0], ["begin 0 1006", "syscall 1010 0", "begin 0 2000"]
        )

    def test_block_without_branch_runs_on(self):
        self.assertEqual(derive(done(REP), done(MOV))[0][1:], ["gap 4010 4000"])
        TABLE[99] = (0x4012, 0x4014, 0x4016, "jmp 0x1000")
        self.addCleanup(TABLE.pop, 99)
        self.assertEqual(derive(done(REP), done(99), done(A))[0][1:], ["jmp 4014 1000"])

    def test_rep_string_repeats_without_a_branch(self):
        TABLE[99] = (0x4010, 0x4010, 0x4012, "rep stosb %al, (%rdi)")
        self.addCleanup(TABLE.pop, 99)
        self.assertEqual(derive(done(REP), done(99), done(99))[0], ["begin 0 4000"])

    def test_loop_to_itself_is_a_branch(self):
        self.assertEqual(derive(done(LOOP), done(LOOP))[0][1:], ["cond 6004 6000"])

    def test_padding_is_skipped(self):
        self.assertEqual(derive(done(A), 0, 0, done(B), 0)[0][1:], ["cond 1004 2000"])

    def test_impossible_successor_is_a_gap(self):
        self.assertEqual(derive(done(A), done(C))[0][1:], ["gap 1004 3000"])

    def test_block_cut_short_starts_again_inside(self):
        self.assertEqual(derive(B, done(STORE))[0], ["begin 0 2000"])

    def test_block_cut_short_cannot_go_elsewhere(self):
        self.assertEqual(derive(B, done(C))[0][1:], ["gap 2008 3000"])

    def test_end_in_the_middle_is_not_whole(self):
        self.assertFalse(derive(done(A))[1])
        self.assertFalse(derive(D)[1])


    def test_longer_than_what_is_looked_up_at_once(self):
        rounds = watched.AT_ONCE // 2 + 10
        lines, _ = derive(*[word for _ in range(rounds) for word in (done(A), done(D))])
        self.assertEqual(list(lines), ["begin 0 1000", *["syscall 1010 0", "begin 0 1000"] * (rounds - 1), "syscall 1010 0"])


class Signals(unittest.TestCase):
    def test_between_blocks(self):
        self.assertEqual(
            derive(done(A), done(HANDLER), interrupt(0x2000))[0][1:],
            ["cond 1004 2000", "end 2000 0", "begin 0 7000"],
        )

    def test_after_a_branch_not_taken(self):
        self.assertEqual(
            derive(done(A), done(HANDLER), interrupt(0x1006))[0][1:], ["end 1006 0", "begin 0 7000"]
        )

    def test_fault_inside_a_block(self):
        self.assertEqual(
            derive(B, done(HANDLER), interrupt(0x2004, fault=True))[0][1:],
            ["end 2004 0", "begin 0 7000"],
        )

    def test_fault_of_the_branch_itself(self):
        self.assertEqual(
            derive(done(C), done(HANDLER), interrupt(0x3003, fault=True))[0][1:],
            ["end 3003 0", "begin 0 7000"],
        )

    def test_fault_at_the_target(self):
        self.assertEqual(
            derive(done(IJMP), done(HANDLER), interrupt(0x10, fault=True))[0][1:],
            ["ijmp 8002 10", "end 10 0", "begin 0 7000"],
        )

    def test_on_the_way_out_of_a_system_call(self):
        self.assertEqual(
            derive(done(D), done(HANDLER), interrupt(0x1010))[0][1:],
            ["syscall 1010 0", "begin 0 7000"],
        )

    def test_first_block_of_a_thread(self):
        self.assertEqual(derive(done(HANDLER), interrupt(0x1000))[0], ["begin 0 7000"])

    def test_goes_on_after_the_handler(self):
        lines, _ = derive(done(A), done(HANDLER), interrupt(0x1006), done(D), done(A))
        self.assertEqual(lines[-3:], ["ret 7002 1006", "syscall 1010 0", "begin 0 1000"])

    def test_address_above_4_gib(self):
        self.assertIn(
            "end 7f0000001000 0",
            derive(done(IJMP), done(HANDLER), interrupt(0x7F0000001000))[0],
        )

    def test_jump_between_handlers_is_no_signal(self):
        TABLE[99] = (0x9000, 0x9002, 0x9004, "jmp 0x7000")
        self.addCleanup(TABLE.pop, 99)
        self.assertEqual(
            derive(done(99), done(HANDLER), interrupt(0x1006))[0][1:], ["jmp 9002 7000"]
        )


class Files(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def blocks(self, name, header, numbers):
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
            file.write(f"hodo-watcher 1 x86_64 {header}\n")
            for number in numbers:
                start, last, fall, text = TABLE[number]
                file.write(f"{number} {start:x} {last:x} {fall:x} 2 {text}\n")

    def run_log(self, name, *words):
        with open(os.path.join(self.directory, name), "wb") as file:
            array.array("I", words).tofile(file)

    def test_threads_and_images_of_one_process(self):
        self.blocks("10.0.blocks", "pid=10 parent=- base=0", [A, B, C, D])
        self.blocks("10.1.blocks", "pid=10 parent=- base=0", [D])
        self.run_log("10.0.10.run", done(A), done(D))
        self.run_log("10.1.10.run", done(D))
        self.run_log("10.0.11.run", done(C), done(D), 0, 0)
        threads = watched.read(self.directory)
        self.assertEqual(sorted(threads), [10, 11])
        self.assertEqual(
            threads[10],
            (["begin 0 1000", "syscall 1010 0", "begin 0 1006", "syscall 1010 0"], True),
        )

    def test_child_knows_its_parents_blocks_up_to_the_fork(self):
        self.blocks("10.0.blocks", "pid=10 parent=- base=0", [A, B, C])
        self.blocks("20.0.blocks", f"pid=20 parent=10.0.blocks base={B}", [D])
        self.assertEqual(sorted(watched.read_blocks(self.directory, "20.0.blocks")), [A, B, D])

    def test_half_a_line_at_the_end(self):
        self.blocks("10.0.blocks", "pid=10 parent=- base=0", [A])
        with open(os.path.join(self.directory, "10.0.blocks"), "a", encoding="utf-8") as file:
            file.write("2 2000 20")
        self.assertEqual(sorted(watched.read_blocks(self.directory, "10.0.blocks")), [A])


if __name__ == "__main__":
    unittest.main()
