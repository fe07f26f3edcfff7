"""scripts/ctest-counts on a real CTest run in which every kind of outcome occurs."""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COUNTS = os.path.join(ROOT, "scripts", "ctest-counts")

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(outcomes NONE)
enable_testing()
function(case name)
  cmake_parse_arguments(ARG "" "" "COMMAND;PROPERTIES" ${ARGN})
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  if(ARG_PROPERTIES)
    set_tests_properties(${name} PROPERTIES ${ARG_PROPERTIES})
  endif()
endfunction()
"""

PASSES = ["case(passes COMMAND true)"]
FAILS = [
    "case(fails COMMAND false)",
    "case(missing COMMAND /nonexistent/program)",
    "case(hangs COMMAND sleep 9 PROPERTIES TIMEOUT 1)",
    "case(crashes COMMAND sh -c [[kill -SEGV $$]])",
    "case(setup COMMAND false PROPERTIES FIXTURES_SETUP f)",
    "case(lost COMMAND true PROPERTIES FIXTURES_REQUIRED f)",
]
SKIPS = [
    "case(by_code COMMAND sh -c [[exit 77]] PROPERTIES SKIP_RETURN_CODE 77)",
    "case(by_text COMMAND echo SKIPPED PROPERTIES SKIP_REGULAR_EXPRESSION SKIPPED)",
    "case(disabled COMMAND true PROPERTIES DISABLED ON)",
]


class CtestCounts(unittest.TestCase):
    def counts(self, cases):
        directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, directory)
        with open(os.path.join(directory, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write(PROJECT + "\n".join(cases) + "\n")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(["cmake", "-G", "Ninja", "-B", "build", "."], cwd=directory, check=True, **quiet)
        result = os.path.join(directory, "result.xml")
        subprocess.run(
            ["ctest", "--test-dir", "build", "--output-junit", result],
            cwd=directory,
            check=False,
            **quiet,
        )
        return subprocess.run([COUNTS, result], capture_output=True, text=True, check=False)

    def test_every_outcome(self):
        done = self.counts(PASSES + FAILS + SKIPS)
        self.assertEqual(done.stdout.split(), ["1", str(len(FAILS)), str(len(SKIPS))])

    def test_nothing_ran_is_an_error(self):
        self.assertNotEqual(self.counts([]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
