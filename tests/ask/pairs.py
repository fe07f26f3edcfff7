#!/usr/bin/env python3
"""Holds `hodo diff` against pairs of runs whose first different step is known.

    pairs.py [--hodo HODO] [--work DIR] [--only REGEX] [--keep]

Records both runs of each pair of pairs.toml, whose head says what a pair is, and looks where `hodo diff` has them part;
of the kind "same", whether it finds them alike. Opt-in: programs are recorded that ./test does not need. Exit status 1
if a pair is neither right nor listed as missed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build/dev")
TIMEOUT = 600
# What programs would otherwise go by: the user's settings and language, and seeds that are drawn.
ENV = {
    "PATH": "/usr/bin:/bin:/usr/lib/gcc/x86_64-linux-gnu/12",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "PYTHONHASHSEED": "0",
    "PERL_HASH_SEED": "0",
    "PERL_PERTURB_KEYS": "0",
}


class Wrong(Exception):
    """Why a pair is not as it is listed, as text."""


class Skip(Exception):
    """What is not installed here."""


def filled(value, pair, run):
    """What is written for a run: its word of `change` instead of @@, of `build` instead of @build@."""
    if isinstance(value, list):
        return [filled(part, pair, run) for part in value]
    for mark, words in (("@@", pair.get("change")), ("@build@", pair.get("build"))):
        value = value.replace(mark, words[run]) if words else value
    return value


class Pair:
    def __init__(self, pair, options):
        self.pair, self.options = pair, options
        self.work = os.path.join(os.path.abspath(options.work), pair["name"])

    def needs(self):
        """The programs that it runs, and what it says that it needs besides."""
        programs = [step[0] for step in [self.pair["run"], *self.pair.get("before", [])]]
        for program in programs + self.pair.get("needs", []):
            here = program.startswith("./") or shutil.which(program, path=ENV["PATH"]) or os.path.exists(program)
            if not here:
                raise Skip(f"{program} is not installed")
        if "package" in self.pair and not installed(self.pair["package"]):
            raise Skip(f"{self.pair['package']} is not installed")

    def prepare(self, run):
        """The folder as the run finds it: under one name for both, which programs look at, unless each has a program
        of its own in it."""
        own = "build" in self.pair or self.pair["kind"] == "rebuilt"
        folder = os.path.join(self.work, "AB"[run] if own else "folder")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name, text in self.pair.get("files", {}).items():
            with open(os.path.join(folder, filled(name, self.pair, run)), "wb") as file:
                file.write(filled(text, self.pair, run).encode("latin-1"))
        for step in self.pair.get("before", []):
            subprocess.run(filled(step, self.pair, run), cwd=folder, check=True, env=ENV, timeout=TIMEOUT)
        return folder

    def record(self, run):
        folder = self.prepare(run)
        data = os.path.join(self.work, "AB"[run] + ".data")
        fixed = [] if self.pair.get("aslr", True) else ["setarch", "-R"]
        command = [*fixed, *filled(self.pair["run"], self.pair, run)]
        with open(os.path.join(folder, self.pair["input"]) if "input" in self.pair else os.devnull, "rb") as stdin:
            done = subprocess.run(
                [self.options.hodo, "record", "-q", "-o", data, "--", *command],
                cwd=folder, env=ENV, stdin=stdin, capture_output=True, timeout=TIMEOUT, check=False,
            )  # fmt: skip
        if not os.path.exists(data) or done.returncode == 125:
            raise Wrong(f"record: {done.stderr.decode(errors='replace')}")

    def diff(self, *words):
        a, b = (os.path.join(self.work, name) for name in ("A.data", "B.data"))
        done = subprocess.run(
            [self.options.hodo, "diff", a, b, *words],
            capture_output=True, text=True, errors="replace", timeout=TIMEOUT, check=False,
        )  # fmt: skip
        if done.returncode not in (0, 1, 3):
            raise Wrong(f"diff: status {done.returncode}: {done.stderr}")
        return done.stdout

    def judge(self):
        self.needs()
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        for run in (0, 1):
            self.record(run)
        answer = json.loads(self.diff("--json"))
        if self.pair["kind"] == "same":
            self.alike(answer)
        else:
            self.parted(answer)

    def alike(self, answer):
        differing = [path["a"] for path in answer["paths"] if not path["equal"]]
        if differing or answer["unpaired"]:
            raise Wrong(f"they differ: {differing} {answer['unpaired']}")

    def parted(self, answer):
        number = self.pair.get("path", 0)
        if number >= len(answer["paths"]):
            raise Wrong(f"there are only {len(answer['paths'])} paths")
        path = answer["paths"][number]
        if path["equal"]:
            raise Wrong("no difference")
        sides = [path["first"][side]["at"] or {} for side in ("a", "b")]
        for side, calls in zip(sides, (path["first"][side]["calls"] for side in ("a", "b"))):
            function = re.sub(r"\.(lto_priv|part|constprop|isra)\.\d+", "", side.get("function", "?"))
            if "(" in self.pair["at"]:
                got = f"{function} ({os.path.basename(side.get('object', '?'))})"
            else:
                got = next((call.split("(")[0] for call in calls if not call.startswith("sub_")), "?")
            if got != self.pair["at"]:
                raise Wrong(f"they part in {function}, called by {got}, {place(side)}, after {path['common']} branches")
            if place(side) != self.pair.get("line", place(side)):
                raise Wrong(f"they part at {place(side)}, not {self.pair['line']}")


def place(side):
    return f"{os.path.basename(side.get('file', '?'))}:{side.get('line', 0)}"


def installed(package):
    name, version = package.split()
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=False)
    return done.stdout == version


def run(pair, options):
    """good, missed, wrong or skipped; and why"""
    case = Pair(pair, options)
    try:
        case.judge()
    except Skip as reason:
        return "skipped", str(reason)
    except (Wrong, subprocess.SubprocessError) as reason:
        if "missed" in pair:
            return "missed", pair["missed"]
        return "wrong", f"{reason}\n    kept: {case.work}"
    if not options.keep:
        shutil.rmtree(case.work)
    return ("wrong", "it is listed as missed, and was found") if "missed" in pair else ("good", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--hodo", default=os.path.join(BUILD, "src/cli/hodo"))
    parser.add_argument("--work", default=os.path.join(BUILD, "tests/ask/pairs"))
    parser.add_argument("--only", default="", help="pairs whose name has this regular expression in it")
    parser.add_argument("--keep", action="store_true", help="keep the recordings of good ones, too")
    options = parser.parse_args()
    options.hodo = os.path.abspath(options.hodo)
    with open(os.path.join(HERE, "pairs.toml"), "rb") as file:
        pairs = [pair for pair in tomllib.load(file)["pair"] if re.search(options.only, pair["name"])]
    came_to = {"good": 0, "missed": 0, "wrong": 0, "skipped": 0}
    for pair in pairs:
        result, why = run(pair, options)
        came_to[result] += 1
        print(f"{pair['name']}: {result}{': ' if why else ''}{why}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in came_to.items()))
    return 1 if came_to["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
