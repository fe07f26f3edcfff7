"""scripts/fuzz with stand-ins for the targets, which log their arguments and fail when told to."""

import os
import shutil
import stat
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = """#!/bin/sh
here=$(dirname "$0")
echo "$*" >>"$here/calls"
echo 'stat::number_of_executed_units: 12'
[ ! -e "$here/break" ] || { echo 'ERROR: it broke'; exit 77; }
"""


class Fuzz(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def target(self, more=""):
        with open(self.path("fuzz_pt_packets"), "w", encoding="utf-8") as file:
            file.write(TARGET + more)
        os.chmod(file.name, stat.S_IRWXU)

    def fuzz(self, *more):
        """(exit status, output, arguments of the target, results)"""
        done = subprocess.run(
            [os.path.join(ROOT, "scripts", "fuzz"), self.folder, "30", *more], capture_output=True, text=True, check=False
        )
        texts = []
        for name in ("calls", "results"):
            with open(self.path(name), encoding="utf-8") as file:
                texts.append(file.read())
        os.unlink(self.path("calls"))
        return done.returncode, done.stdout + done.stderr, *texts

    def test_fuzzes_with_the_kept_corpus(self):
        self.target()
        status, output, calls, results = self.fuzz()
        self.assertEqual((status, results), (0, "pt_packets 0\n"), output)
        self.assertIn("-max_total_time=30 ", calls)
        self.assertTrue(calls.endswith("/found/pt_packets " + os.path.join(ROOT, "fuzz/corpus/pt_packets") + "\n"), calls)
        self.assertIn("pt_packets: fuzzed for 30 s, 12 inputs run", output)

    def test_with_a_total_what_changed_shares_it(self):
        self.target()
        self.assertIn("-max_total_time=30 ", self.fuzz("--changed", "--total", "600")[2])
        self.target("# other\n")
        seconds = 2 * os.cpu_count()
        self.assertIn(f"-max_total_time={seconds} ", self.fuzz("--changed", "--total", "2")[2])
        self.assertIn("-runs=0 ", self.fuzz("--changed", "--total", "2")[2])

    def test_with_changed_the_same_program_is_only_replayed(self):
        self.target()
        self.assertIn("-max_total_time=30 ", self.fuzz("--changed")[2])
        status, output, calls, results = self.fuzz("--changed")
        self.assertEqual((status, results), (0, "pt_packets 0\n"), output)
        self.assertIn("-runs=0 ", calls)
        self.assertNotIn("-max_total_time", calls)
        self.assertIn("pt_packets: not changed, replayed", output)

    def test_a_changed_program_is_fuzzed(self):
        self.target()
        self.fuzz("--changed")
        self.target("# changed\n")
        self.assertIn("-max_total_time=30 ", self.fuzz("--changed")[2])

    def test_without_changed_the_same_program_is_fuzzed(self):
        self.target()
        self.fuzz()
        self.assertIn("-max_total_time=30 ", self.fuzz()[2])

    def test_a_program_that_failed_is_fuzzed_again(self):
        self.target()
        self.fuzz("--changed")
        with open(self.path("break"), "w", encoding="utf-8"):
            pass
        for _ in range(2):  # a replay that fails, then a run that fails
            status, output, calls, results = self.fuzz("--changed")
            self.assertEqual((status, results), (1, "pt_packets 77\n"))
            self.assertIn("ERROR: it broke", output)
        os.unlink(self.path("break"))
        self.assertIn("-max_total_time=30 ", self.fuzz("--changed")[2])

    def test_no_target_is_a_failure(self):
        done = subprocess.run([os.path.join(ROOT, "scripts", "fuzz"), self.folder, "1"], capture_output=True, check=False)
        self.assertEqual((done.returncode, os.listdir(self.folder)), (1, ["results"]))


unittest.main()
