"""scripts/slow-tests on a real CTest run, before and after it."""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(slow NONE)
enable_testing()
add_test(NAME "quick" COMMAND true)
add_test(NAME "slow" COMMAND sleep 0.3)
add_test(NAME "quick.slow" COMMAND true)
add_test(NAME "all/of+it.slow/(1, 2)  # of 3" COMMAND sleep 0.3)
"""


class SlowTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        with open(os.path.join(self.folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(PROJECT)
        self.run_it("cmake", "-S", self.folder, "-B", self.folder)

    def run_it(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def slow(self, seconds="0.2"):
        return self.run_it(os.path.join(ROOT, "scripts", "slow-tests"), self.folder, seconds)

    def test_of_a_run(self):
        self.assertEqual(self.slow(), "", "before any run")
        self.run_it("ctest", "--test-dir", self.folder)
        expression, number = self.slow().splitlines()
        self.assertEqual(number, "2")
        left = self.run_it("ctest", "--test-dir", self.folder, "-N", "-E", expression)
        self.assertEqual([line.split(": ")[1] for line in left.splitlines() if line.startswith("  Test ")], ["quick", "quick.slow"])
        self.assertEqual(self.slow("60"), "", "none takes so long")


if __name__ == "__main__":
    unittest.main()
