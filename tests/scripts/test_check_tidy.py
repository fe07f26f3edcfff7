"""scripts/check-tidy in a scratch tree, with the real clang-tidy and the project's .clang-tidy."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

CLEAN = """#include "{name}.h"
namespace {{
int helper() {{ return 1; }}
}}  // namespace
int {name}() {{ return helper(); }}
"""


class CheckTidy(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.scratch)
        self.root = os.path.join(self.scratch, "one")
        os.makedirs(os.path.join(self.root, "scripts"))
        os.makedirs(os.path.join(self.root, "src"))
        shutil.copy(os.path.join(ROOT, "scripts", "check-tidy"), os.path.join(self.root, "scripts"))
        shutil.copy(os.path.join(ROOT, ".clang-tidy"), self.root)

    def write(self, name, text):
        with open(os.path.join(self.root, "src", name), "w", encoding="utf-8") as file:
            file.write(text + "\n")

    def clean_module(self, name):
        self.write(name + ".h", f"#pragma once\nint {name}();")
        self.write(name + ".cc", CLEAN.format(name=name))

    def run_check(self, root=None):
        """(exit status, output, how many were checked)"""
        root = root or self.root
        build = os.path.join(root, "build")
        source = os.path.join(root, "src")
        os.makedirs(build, exist_ok=True)
        commands = [
            {
                "directory": build,
                "file": os.path.join(source, name),
                "command": f"ccache c++ -I{source} -std=c++20 -o {name}.o -c {os.path.join(source, name)}",
            }
            for name in sorted(os.listdir(source))
            if name.endswith(".cc")
        ]
        with open(os.path.join(build, "compile_commands.json"), "w", encoding="utf-8") as file:
            json.dump(commands, file)
        done = subprocess.run(
            [os.path.join(root, "scripts", "check-tidy"), build],
            env={**os.environ, "XDG_CACHE_HOME": os.path.join(self.scratch, "cache")},
            capture_output=True, text=True, check=False,
        )
        checked = re.search(r"clang-tidy: (\d+) of \d+ files", done.stdout)
        self.assertTrue(checked, done.stdout + done.stderr)
        return done.returncode, done.stdout, int(checked[1])

    def test_a_finding_shows_and_is_not_remembered(self):
        self.clean_module("a")
        self.write("bad.cc", "int deref() { int* at = nullptr; return *at; }")
        for checked in (2, 1):
            status, output, count = self.run_check()
            self.assertEqual((status, count), (1, checked))
            self.assertRegex(output, r"/src/bad\.cc:1:\d+: error: .*\[clang-analyzer-core.NullDereference")

    def test_a_finding_in_a_header_shows(self):
        self.clean_module("a")
        self.write("a.h", "#pragma once\nint a();\ninline bool same(bool a) { if (a) { return true; } return false; }")
        status, output, _ = self.run_check()
        self.assertEqual(status, 1)
        self.assertIn("/src/a.h:3:", output)

    def test_only_what_includes_a_changed_header_is_checked_again(self):
        for name in ("a", "b", "c"):
            self.clean_module(name)
        self.write("a.h", '#pragma once\n#include "b.h"\nint a();')
        self.assertEqual(self.run_check()[::2], (0, 3))
        self.write("b.h", "#pragma once\nint b();\nint more();")
        self.assertEqual(self.run_check()[::2], (0, 2))
        self.write("c.cc", CLEAN.format(name="c") + "// changed")
        self.assertEqual(self.run_check()[::2], (0, 1))

    def test_what_was_clean_in_another_clone_is_not_checked_again(self):
        self.clean_module("a")
        self.assertEqual(self.run_check()[::2], (0, 1))
        clone = os.path.join(self.scratch, "two")
        shutil.copytree(self.root, clone)
        self.assertEqual(self.run_check(clone)[::2], (0, 0))
        with open(os.path.join(clone, ".clang-tidy"), "a", encoding="utf-8") as file:
            file.write("# changed\n")
        self.assertEqual(self.run_check(clone)[::2], (0, 1))

    def test_a_source_that_does_not_compile_fails_and_is_not_remembered(self):
        self.clean_module("a")
        self.write("broken.cc", "int broken( {")
        for checked in (2, 1):
            status, output, count = self.run_check()
            self.assertEqual((status, count), (1, checked))
            self.assertIn("broken.cc", output)


unittest.main()
