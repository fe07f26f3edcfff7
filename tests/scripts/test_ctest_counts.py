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


# Processes of GoogleTest, as they leave their results.
INNER = {
    "good": '<testcase name="a" status="run" result="completed"/><testcase name="b" status="run" result="skipped"/>',
    "bad": '<testcase name="a" status="run" result="completed"/><testcase name="b" status="run" result="completed">'
    '<failure message="1 is not 2"/></testcase>',
    "died": '<testcase name="a" status="run" result="completed"/>',
}


class CtestCounts(unittest.TestCase):
    def counts(self, cases, folder=()):
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
        return subprocess.run([COUNTS, result, *folder], capture_output=True, text=True, check=False)

    def test_every_outcome(self):
        done = self.counts(PASSES + FAILS + SKIPS)
        self.assertEqual(done.stdout.split(), ["1", str(len(FAILS)), str(len(SKIPS))])

    def test_processes_of_many_cases(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        for name, cases in INNER.items():
            with open(os.path.join(folder, name + ".xml"), "w", encoding="utf-8") as file:
                file.write(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
        done = self.counts(
            ["case(good COMMAND true)", "case(bad COMMAND false)", "case(died COMMAND false)", *PASSES], [folder]
        )
        self.assertEqual(done.stdout.split(), ["4", "2", "1"])

    def test_nothing_ran_is_an_error(self):
        self.assertNotEqual(self.counts([]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
