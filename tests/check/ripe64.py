#!/usr/bin/python3
"""How `hodo check` does on RIPE64, the published suite of buffer overflow attacks (Rosier's 64-bit port of
Wilander and Nikiforakis's RIPE). The suite is no part of this project and no part of ./test:

    git clone https://github.com/hrosier/ripe64 && cd ripe64 && mkdir build
    gcc -fno-stack-protector -z execstack -g source/attack_gen.c -o build/gcc_attack_gen
    tests/check/ripe64.py --hodo build/release/src/cli/hodo --attack ripe64/build/gcc_attack_gen

Each form is first run natively, up to five times; those that work are recorded, as often, and, if they work there
too (where things lie is chance), checked. Prints a row for each class of attack: a percentage of all would hide that the
classes are found by different rules. Exit status 1 if an attack that worked was not found by its rule.
"""

import argparse
import collections
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

TECHNIQUES = ["direct", "indirect"]
LOCATIONS = ["stack", "heap", "bss", "data"]
POINTERS = [
    "ret", "baseptr",
    "funcptrstackvar", "funcptrstackparam", "funcptrheap", "funcptrbss", "funcptrdata",
    "structfuncptrstack", "structfuncptrheap", "structfuncptrbss", "structfuncptrdata",
    "longjmpstackvar", "longjmpstackparam", "longjmpheap", "longjmpbss", "longjmpdata",
]  # fmt: skip
PAYLOADS = ["nonop", "simplenop", "simplenopequival", "r2libc", "rop"]
FUNCTIONS = [
    "memcpy", "strcpy", "strncpy", "sprintf", "snprintf",
    "strcat", "strncat", "sscanf", "fscanf", "homebrew",
]  # fmt: skip

TRIES = 5  # where things lie differs from run to run, and with it whether a form works

# What finds a class of attack: one of these rules (a family where it ends in a dot).
EXPECTED = {
    ("ret", "shellcode"): ("return.target",),
    ("ret", "r2libc"): ("return.target",),
    ("ret", "rop"): ("return.target",),
    ("baseptr", "shellcode"): ("return.target",),
    ("baseptr", "r2libc"): ("return.target",),
    ("baseptr", "rop"): ("return.target",),
    ("funcptr", "shellcode"): ("code.",),
    ("funcptr", "r2libc"): ("call.sensitive",),
    ("funcptr", "rop"): ("call.target",),
    ("longjmp", "shellcode"): ("code.",),
    ("longjmp", "r2libc"): ("call.sensitive", "return.target"),
    ("longjmp", "rop"): ("return.target",),
}


def class_of(pointer, payload):
    overwritten = "funcptr" if "funcptr" in pointer else "longjmp" if "longjmp" in pointer else pointer
    return overwritten, "shellcode" if "nop" in payload else payload


class Suite:
    def __init__(self, options, work):
        self.options = options
        self.work = work
        self.mark = os.path.join(work, "worked")
        self.data = os.path.join(work, "attack.data")

    def works(self, prefix, words):
        """(whether the attack gave a shell, what the program said)"""
        if os.path.exists(self.mark):
            os.unlink(self.mark)
        attack = subprocess.Popen(
            [*prefix, self.options.attack, *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            cwd=self.work, start_new_session=True,
        )  # fmt: skip
        try:
            said, _ = attack.communicate(f"touch {self.mark}\n".encode(), timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(attack.pid, signal.SIGKILL)  # what it jumped to may loop forever
            attack.communicate()
            return False, b""
        return os.path.exists(self.mark), said

    def works_in_a_try(self, prefix, words):
        for _ in range(TRIES):
            worked, said = self.works(prefix, words)
            if worked:
                return True
            if b"Impossible" in said:
                return False
        return False

    def works_natively(self, words):
        return self.works_in_a_try([], words)

    def works_recorded(self, words):
        return self.works_in_a_try([self.options.hodo, "record", "-q", "-o", self.data, "--"], words)

    def rules(self):
        done = subprocess.run(
            [self.options.hodo, "check", "--json", self.data],
            stdout=subprocess.PIPE, check=False,
        )  # fmt: skip
        found = json.loads(done.stdout)["findings"]
        return sorted({step["rule"] for finding in found for step in [finding, *finding["steps"]]})


def forms():
    for technique, location, pointer, payload, function in itertools.product(
        TECHNIQUES, LOCATIONS, POINTERS, PAYLOADS, FUNCTIONS
    ):
        words = ["-t", technique, "-l", location, "-c", pointer, "-i", payload, "-f", function]
        yield class_of(pointer, payload), words


def found_by_its_rule(kind, rules):
    return any(r == e or (e.endswith(".") and r.startswith(e)) for r in rules for e in EXPECTED[kind])


def measure(suite):
    """{class: Counter}, and the forms that were not found by their rule."""
    table = collections.defaultdict(collections.Counter)
    missed = []
    for kind, words in forms():
        if not suite.works_natively(words):
            continue
        row = table[kind]
        row["native"] += 1
        if not suite.works_recorded(words):
            continue
        row["recorded"] += 1
        rules = suite.rules()
        row["found"] += bool(rules)
        if found_by_its_rule(kind, rules):
            row["by its rule"] += 1
        else:
            missed.append((" ".join(words), rules))
    return table, missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hodo", required=True)
    parser.add_argument("--attack", required=True, help="the suite's attack_gen, built with gcc")
    options = parser.parse_args()
    options.hodo = os.path.abspath(options.hodo)
    options.attack = os.path.abspath(options.attack)
    work = tempfile.mkdtemp(prefix="hodo-ripe64-")
    try:
        table, missed = measure(Suite(options, work))
    finally:
        shutil.rmtree(work)
    print("| overwritten | leads to | work natively | work recorded | found | by its rule | rule |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind in sorted(table):
        row = table[kind]
        counts = " | ".join(str(row[c]) for c in ("native", "recorded", "found", "by its rule"))
        print(f"| {kind[0]} | {kind[1]} | {counts} | {' or '.join(EXPECTED[kind])} |")
    for words, rules in missed:
        print(f"not found by its rule: {words}: {', '.join(rules) or 'nothing'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
