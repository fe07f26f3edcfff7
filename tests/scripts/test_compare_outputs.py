"""scripts/compare-outputs on programs that say little."""

import os
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPARE = os.path.join(ROOT, "scripts", "compare-outputs")

# Records a line, and says what it is asked for.
HODO = """#!/bin/sh
if [ "$1" = record ]; then echo trace > "$4"; exit 0; fi
echo "reads by $1 $2"
%s
"""


class CompareOutputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def program(self, name, more=""):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(HODO % more)
        os.chmod(path, 0o755)
        return path

    def compare(self, new, *options):
        done = subprocess.run(
            [COMPARE, self.program("old"), new, os.path.join(self.folder, "recordings"), "--only", "main-first",
             *options],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    def test_the_same_program_says_the_same(self):
        status, out = self.compare(self.program("new"))
        self.assertEqual(status, 0, out)
        self.assertIn("outputs of 1 inputs compared, 0 differ", out)

    def test_another_line_is_shown(self):
        status, out = self.compare(self.program("new", "[ $1 = calls ] && echo more; exit 0"), "--commands", "^calls$")
        self.assertEqual(status, 1)
        self.assertEqual(out, "main-first: hodo calls: output, line 2\n    old (nothing)\n    new more\n"
                              "1 outputs of 1 inputs compared, 1 differ\n")  # fmt: skip

    def test_messages_and_exit_status_count(self):
        status, out = self.compare(self.program("new", "echo oh >&2; exit 3"), "--commands", "^stats$")
        self.assertEqual(status, 1)
        self.assertIn("exit status\n    old 0\n    new 3\n", out)
        self.assertIn("messages, line 1\n    old (nothing)\n    new oh\n", out)

    def test_what_there_was_no_time_for_is_not_the_same(self):
        status, out = self.compare(self.program("new"), "--seconds", "0")
        self.assertEqual(status, 3)
        self.assertIn("not compared: the time was over", out)


if __name__ == "__main__":
    unittest.main()
