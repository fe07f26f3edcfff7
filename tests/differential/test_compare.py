"""The comparison itself: equal lists pass, each kind of damage is found where it is."""

import random
import unittest

import branch_list
import cases
import compare
import listed
from branch_list import BranchList


def example():
    generator = random.Random(1)
    return [f"cond {generator.randrange(4096):x} {i:x}" for i in range(1000)]


def threads(left, right, tail=None):
    """The report over two lists of one thread."""
    return compare.threads("a", {1: BranchList.of(left)}, "b", {1: BranchList.of(right)}, tail)


def first_line(report):
    return report[0] if report else None


class Lists(unittest.TestCase):
    LINES = ["begin 0 401000", "icall 401005 402000", "ijmp 402000 ffffffff81000000", "syscall 402004 0"]

    def test_lines_come_back(self):
        listing = BranchList.of(self.LINES)
        self.assertEqual((len(listing), list(listing)), (4, self.LINES))
        self.assertEqual((listing[1], listing[-1], list(listing[1:3])), (self.LINES[1], self.LINES[3], self.LINES[1:3]))
        self.assertEqual((listing == self.LINES, listing[:3] == self.LINES), (True, False))
        with self.assertRaises(IndexError):
            _ = listing[4]

    def test_a_list_that_is_cut_off_is_refused(self):
        data = branch_list.HEAD.pack(7, 2) + BranchList.of(self.LINES[:2]).data
        self.assertEqual(branch_list.read(data), {7: self.LINES[:2]})
        for size in range(1, len(data)):
            with self.assertRaises((ValueError, branch_list.struct.error)):
                branch_list.read(data[:size])

    def test_reduced_to_what_perf_says(self):
        self.assertEqual(
            listed.as_perf_says(BranchList.of(self.LINES)),
            ["begin 0 401000", "call 401005 402000", "jmp 402000 ffffffff81000000", "syscall 402004 0"],
        )

    def test_reduced_to_addresses(self):
        listing = listed.addresses(BranchList.of(self.LINES[1:]))
        self.assertEqual(listing, ["401005 402000", "402000 ffffffff81000000", "402004 0"])
        self.assertNotEqual(listing, listed.addresses(BranchList.of(["icall 401005 402008", *self.LINES[2:]])))

    def test_stacks_without_their_marks(self):
        lines = ["picked-up 0 10", "jmp 10 20", "picked-up 0 30", "cond 30 10"]
        self.assertEqual(listed.of_stacks(BranchList.of(lines)), ["jmp 10 20", "cond 30 10"])


class Pauses(unittest.TestCase):
    def test_same_address_is_a_pause(self):
        self.assertEqual(
            listed.without_pauses(BranchList.of(["jmp 1 20", "end 20 0", "begin 0 20", "jmp 24 1"])),
            (["jmp 1 20", "jmp 24 1"], 1),
        )

    def test_pauses_one_inside_another_and_one_behind_another(self):
        lines = ["end 10 0", "end 20 0", "begin 0 20", "begin 0 10", "end 10 0", "begin 0 10", "jmp 14 1"]
        self.assertEqual(listed.without_pauses(BranchList.of(lines)), (["jmp 14 1"], 3))

    def test_anything_else_is_not(self):
        for lines in (
            ["end 20 0", "begin 0 21"],
            ["end 2 0", "begin 0 20"],
            ["syscall 20 0", "begin 0 20"],
            ["begin 0 20", "end 20 0"],
            ["end 20 0", "jmp 20 30", "begin 0 20"],
        ):
            self.assertEqual(listed.without_pauses(BranchList.of(lines)), (lines, 0))


class Bts(unittest.TestCase):
    def test_signal_before_a_system_call_looks_like_the_call(self):
        witness = ["jmp 1 20", "end 20 0", "begin 0 90", "int 95 0", "begin 0 20", "int 20 0"]
        ours = ["jmp 1 20", "int 20 0", "begin 0 90", "int 95 0", "begin 0 20", "int 20 0"]
        self.assertEqual(listed.as_bts_says(BranchList.of(witness), BranchList.of(ours)), ours)

    def test_signal_before_anything_else_does_not(self):
        witness = ["jmp 1 20", "end 20 0", "begin 0 90"]
        for ours in (["jmp 1 20", "jmp 20 90"], ["jmp 1 20", "int 21 0"]):
            self.assertEqual(listed.as_bts_says(BranchList.of(witness), BranchList.of(ours)), witness)


class Compare(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(threads(example(), example()), [])

    def test_every_single_change_is_found_at_its_line(self):
        for damaged in (0, 1, 499, 998, 999):
            lines = example()
            lines[damaged] = "jmp 1 2"
            report = threads(example(), lines)
            self.assertIn(f"first difference at line {damaged},", report[0])
            self.assertIn(f"> {damaged:9d} jmp 1 2", report)

    def test_missing_and_additional_lines(self):
        for position in (0, 500, 999):
            lines = example()
            del lines[position]
            for pair in ((lines, example()), (example(), lines)):
                report = threads(*pair)
                self.assertIn(f"first difference at line {position},", first_line(report))

    def test_swapped_lines(self):
        lines = example()
        lines[10], lines[11] = lines[11], lines[10]
        report = threads(example(), lines)
        self.assertIn("first difference at line 10,", first_line(report))

    def test_context_of_twenty_lines(self):
        lines = example()
        lines[500] = "jmp 1 2"
        report = threads(example(), lines)
        self.assertEqual(len(report), 1 + 2 * (1 + 20 + 1 + 20))

    def test_missing_thread(self):
        report = compare.threads("a", {1: ["x"], 2: ["y"]}, "b", {1: ["x"], 3: []})
        self.assertEqual(
            report, ["thread 2 is only in a's list", "thread 3 is only in b's list"]
        )

    def test_tolerated_tail_is_only_a_tail(self):
        whole, short = example(), example()[:-3]
        self.assertEqual(threads(whole, short, {1: 3}), [])
        self.assertEqual(threads(short, whole, {1: 3}), [])
        self.assertTrue(threads(whole, short, {1: 2}))
        self.assertTrue(threads(whole, short, {2: 3}))
        short[5] = "jmp 1 2"
        self.assertTrue(threads(whole, short, {1: 3}))


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
