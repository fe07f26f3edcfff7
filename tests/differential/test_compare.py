"""The comparison itself: equal lists pass, each kind of damage is found where it is."""

import random
import unittest

import cases
import compare
import listed

CSV = """time,cpu,pid,tid,cr3,from,to,kind,flags
1,,7,7,,,0x401000,begin,
2,,7,7,,0x401005,0x402000,icall,
3,,7,8,,0x401007,0x401000,cond,
4,,7,7,,0x402004,,syscall,end
"""
PERF = """    7  tr strt                        0 =>           401000
    7  call                      401005 =>           402000
    8  jcc                       401007 =>           401000
    7  tr end  syscall           402004 =>                0
"""


def example():
    generator = random.Random(1)
    return [f"cond {generator.randrange(4096):x} {i:x}" for i in range(1000)]


def first_line(report):
    return report[0] if report else None


class Lists(unittest.TestCase):
    def test_hodo_csv(self):
        self.assertEqual(
            listed.hodo(CSV.splitlines(keepends=True)),
            {
                7: ["begin 0 401000", "icall 401005 402000", "syscall 402004 0"],
                8: ["cond 401007 401000"],
            },
        )

    def test_perf(self):
        self.assertEqual(
            listed.perf(PERF.splitlines(keepends=True)),
            {
                7: ["begin 0 401000", "call 401005 402000", "syscall 402004 0"],
                8: ["cond 401007 401000"],
            },
        )

    def test_hodo_reduced_to_what_perf_says(self):
        ours = listed.hodo(CSV.splitlines(keepends=True))
        theirs = listed.perf(PERF.splitlines(keepends=True))
        self.assertEqual({tid: listed.as_perf_says(lines) for tid, lines in ours.items()}, theirs)

    def test_other_columns_are_refused(self):
        with self.assertRaises(ValueError):
            listed.hodo(["time,from,to\n"])
        with self.assertRaises(ValueError):
            listed.hodo([])

    def test_perf_error_line_is_refused(self):
        with self.assertRaises(ValueError):
            listed.perf([" instruction trace error type 1 time 1.000000 cpu 0 pid 7 tid 7\n"])


class Pauses(unittest.TestCase):
    def test_same_address_is_a_pause(self):
        self.assertEqual(
            listed.without_pauses(["jmp 1 20", "end 20 0", "begin 0 20", "jmp 24 1"]),
            (["jmp 1 20", "jmp 24 1"], 1),
        )

    def test_anything_else_is_not(self):
        for lines in (
            ["end 20 0", "begin 0 21"],
            ["end 2 0", "begin 0 20"],
            ["syscall 20 0", "begin 0 20"],
            ["begin 0 20", "end 20 0"],
            ["end 20 0", "jmp 20 30", "begin 0 20"],
        ):
            self.assertEqual(listed.without_pauses(lines), (lines, 0))


class Bts(unittest.TestCase):
    def test_signal_before_a_system_call_looks_like_the_call(self):
        witness = ["jmp 1 20", "end 20 0", "begin 0 90", "int 95 0", "begin 0 20", "int 20 0"]
        ours = ["jmp 1 20", "int 20 0", "begin 0 90", "int 95 0", "begin 0 20", "int 20 0"]
        self.assertEqual(listed.as_bts_says(witness, ours), ours)

    def test_signal_before_anything_else_does_not(self):
        witness = ["jmp 1 20", "end 20 0", "begin 0 90"]
        self.assertEqual(listed.as_bts_says(witness, ["jmp 1 20", "jmp 20 90"]), witness)
        self.assertEqual(listed.as_bts_says(witness, ["jmp 1 20", "int 21 0"]), witness)


class Compare(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(compare.threads("a", {1: example()}, "b", {1: example()}), [])

    def test_every_single_change_is_found_at_its_line(self):
        for damaged in (0, 1, 499, 998, 999):
            lines = example()
            lines[damaged] = "jmp 1 2"
            report = compare.threads("a", {1: example()}, "b", {1: lines})
            self.assertIn(f"first difference at line {damaged},", report[0])
            self.assertIn(f"> {damaged:9d} jmp 1 2", report)

    def test_missing_and_additional_lines(self):
        for position in (0, 500, 999):
            lines = example()
            del lines[position]
            for pair in ((lines, example()), (example(), lines)):
                report = compare.threads("a", {1: pair[0]}, "b", {1: pair[1]})
                self.assertIn(f"first difference at line {position},", first_line(report))

    def test_swapped_lines(self):
        lines = example()
        lines[10], lines[11] = lines[11], lines[10]
        report = compare.threads("a", {1: example()}, "b", {1: lines})
        self.assertIn("first difference at line 10,", first_line(report))

    def test_context_of_twenty_lines(self):
        lines = example()
        lines[500] = "jmp 1 2"
        report = compare.threads("a", {1: example()}, "b", {1: lines})
        self.assertEqual(len(report), 1 + 2 * (1 + 20 + 1 + 20))

    def test_missing_thread(self):
        report = compare.threads("a", {1: ["x"], 2: ["y"]}, "b", {1: ["x"], 3: []})
        self.assertEqual(
            report, ["thread 2 is only in a's list", "thread 3 is only in b's list"]
        )

    def test_tolerated_tail_is_only_a_tail(self):
        whole, short = example(), example()[:-3]
        self.assertEqual(compare.threads("a", {1: whole}, "b", {1: short}, {1: 3}), [])
        self.assertEqual(compare.threads("a", {1: short}, "b", {1: whole}, {1: 3}), [])
        self.assertTrue(compare.threads("a", {1: whole}, "b", {1: short}, {1: 2}))
        self.assertTrue(compare.threads("a", {1: whole}, "b", {1: short}, {2: 3}))
        short[5] = "jmp 1 2"
        self.assertTrue(compare.threads("a", {1: whole}, "b", {1: short}, {1: 3}))


class Cases(unittest.TestCase):
    def test_the_list_can_be_read(self):
        known = cases.read()
        self.assertGreaterEqual(len(known), 20)
        self.assertEqual(known["hello"].arguments("/p", "/w"), ["/p/hello"])
        self.assertEqual(known["ends_abort"].status, 134)

    def test_unknown_option_is_refused(self):
        with self.assertRaises(ValueError):
            cases.Case("x | flaky | true")


if __name__ == "__main__":
    unittest.main()
