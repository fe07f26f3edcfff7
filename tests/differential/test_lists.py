"""The programs that read lists of branches: what they make of a line of hodo's, and of a sample of perf's.

    test_lists.py FOLDER    where they were built
"""

import ctypes
import os
import subprocess
import sys
import tempfile
import unittest

import branch_list
from listed import Lister

LISTER = Lister(sys.argv.pop())
HEADER = "time,cpu,pid,tid,cr3,from,to,kind,flags\n"


class OfHodo(unittest.TestCase):
    def read(self, text):
        return subprocess.run([LISTER.reader], input=text.encode(), capture_output=True)

    def test_threads_and_kinds(self):
        done = self.read(HEADER + "1,,7,7,,,0x401000,begin,\n2,,7,7,,0x401005,0x402000,icall,\n3,0,7,8,,0x401007,0x401000,cond,\n"
                         "4,,7,7,,0xffffffff81402004,,syscall,end\n5,,7,8,,,0x10,begin,resync\n6,,7,8,,0x10,0x20,exc,a,resync\n")
        self.assertEqual(done.stderr, b"")
        self.assertEqual(branch_list.read(done.stdout), {
            7: ["begin 0 401000", "icall 401005 402000", "syscall ffffffff81402004 0"],
            8: ["cond 401007 401000", "picked-up 0 10", "exc 10 20"],
        })

    def test_every_kind_has_its_name(self):
        done = self.read(HEADER + "".join(f"1,,7,7,,0x1,0x2,{kind},\n" for kind in branch_list.KINDS))
        self.assertEqual(branch_list.read(done.stdout), {7: [f"{kind} 1 2" for kind in branch_list.KINDS]})

    def test_anything_else_is_refused(self):
        for text in ("", "time,from,to\n", HEADER + "1,,7,7,,,0x401000\n", HEADER + "1,,7,7,,,0x401000,jumped,\n", HEADER + "1,,7,,,,0x40,jmp,\n",
                     HEADER + "1,,7,7,,0x4g,0x40,jmp,\n", HEADER + "1,,7,7,,40,0x40,jmp,\n", HEADER + "\n"):
            done = self.read(text)
            self.assertEqual((done.returncode, done.stdout), (1, b""), text)
            self.assertNotEqual(done.stderr, b"", text)


class Sample(ctypes.Structure):
    """The beginning of perf_dlfilter_sample, up to its flags."""
    _fields_ = ([("size", ctypes.c_uint32), ("latencies", ctypes.c_uint16 * 2), ("ip", ctypes.c_uint64), ("pid", ctypes.c_int32), ("tid", ctypes.c_int32),
                 ("time", ctypes.c_uint64), ("addr", ctypes.c_uint64), ("between", ctypes.c_uint64 * 7), ("cpu", ctypes.c_int32), ("flags", ctypes.c_uint32),
                 ("behind", ctypes.c_uint64 * 32)])


ARGUMENTS = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int))
BRANCH, CALL, RETURN, CONDITIONAL, SYSTEM, ASYNC, INTERRUPT, ABORT, BEGIN, END = (1 << bit for bit in range(10))


class OfPerf(unittest.TestCase):
    """As perf calls them: args() gives the words of --dlarg, and each sample goes through the filter."""

    def listed(self, samples):
        library = ctypes.CDLL(LISTER.filter)
        with tempfile.NamedTemporaryFile() as file:
            words = (ctypes.c_char_p * 1)(file.name.encode())

            def arguments(_, count):
                count[0] = 1
                return ctypes.addressof(words)

            called = ARGUMENTS(arguments)
            functions = (ctypes.c_void_p * 3).in_dll(library, "perf_dlfilter_fns")
            functions[2] = ctypes.cast(called, ctypes.c_void_p)
            data = ctypes.c_void_p()
            self.assertEqual(library.start(ctypes.byref(data), None), 0)
            for thread, flags, source, target in samples:
                sample = Sample(tid=thread, flags=flags, ip=source, addr=target)
                self.assertEqual(library.filter_event_early(data, ctypes.byref(sample), None), 1)
            self.assertEqual(library.stop(data, None), 0)
            return branch_list.read(file.read())

    def test_threads(self):
        self.assertEqual(self.listed([(7, BRANCH | BEGIN, 0, 0x401000), (8, BRANCH, 0xffffffff81000000, 2), (7, BRANCH | CALL, 0x401005, 0x402000)]),
                         {7: ["begin 0 401000", "call 401005 402000"], 8: ["jmp ffffffff81000000 2"]})

    def test_kinds(self):
        kinds = [(BRANCH | CONDITIONAL, "cond"), (BRANCH, "jmp"), (BRANCH | CALL, "call"), (BRANCH | RETURN, "ret"),
                 (BRANCH | CALL | SYSTEM, "syscall"), (BRANCH | RETURN | SYSTEM, "sysret"), (BRANCH | CALL | INTERRUPT, "int"),
                 (BRANCH | RETURN | INTERRUPT, "iret"), (BRANCH | ASYNC, "end"), (BRANCH | CALL | ASYNC | INTERRUPT, "irq"),
                 (BRANCH | BEGIN, "begin"), (BRANCH | END, "end"), (BRANCH | CALL | SYSTEM | END, "syscall"), (BRANCH | CALL | INTERRUPT | END, "int"),
                 (BRANCH | ASYNC | END, "end"), (BRANCH | CALL | ASYNC | INTERRUPT | END, "end"), (BRANCH | RETURN | END, "ret"),
                 (BRANCH | ABORT, "other"), (BRANCH | BEGIN | CALL, "other"), (BRANCH | CALL | 1 << 10, "other"), (0, "other")]
        self.assertEqual(self.listed([(7, flags, 1, 2) for flags, _ in kinds]), {7: [f"{kind} 1 2" for _, kind in kinds]})


if __name__ == "__main__":
    unittest.main()
