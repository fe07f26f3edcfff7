#!/usr/bin/python3
"""Records programs and has `hodo check` judge them.

One case by name (hijack.FORM, clean.NAME, ...) for CTest, or --all for every clean program, also
those that ./test leaves out for their time. The cases are in cases_*.py, what they share in harness.py.
Exit status 0: as it must be; 1: not; 77: a program that the case needs is not installed.
"""

import argparse
import os
import shutil
import subprocess
import sys

import cases_clean
import cases_commands
import cases_corpus
import cases_formats
import cases_generators
import cases_hijacks
import cases_live
import cases_pointers
from harness import SKIPPED, SOURCES, TIMEOUT, Failure, Skip, Tool

PATIENCE = 3600  # of --all, which runs large programs, on any machine


def cases():
    """{case: function of a tool} of those that ./test runs"""
    out = {}
    for module in (cases_commands, cases_formats, cases_live, cases_hijacks, cases_pointers, cases_generators, cases_clean):
        out.update(module.cases())
    return out


def run(name, function, options, timeout=TIMEOUT):
    work = os.path.join(options.work, name)
    try:
        function(Tool(options.hodo, options.programs, options.ways, work, timeout))
    except Skip as reason:
        print(f"{name}: skipped: {reason}")
        return SKIPPED
    except (Failure, subprocess.TimeoutExpired) as reason:
        print(f"{name}: {reason}\nkept: {work}")
        return 1
    shutil.rmtree(work)
    print(f"{name}: good")
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true", help="print the quick cases and exit")
    parser.add_argument("--all", action="store_true", help="run every clean program")
    parser.add_argument("--corpus", action="store_true", help="run every program of corpus.txt that is installed")
    parser.add_argument("--part", default="", help="of --corpus, a tenth, chosen by this name (a commit's)")
    parser.add_argument("--hodo", default=os.path.join(SOURCES, "build/dev/src/cli/hodo"))
    parser.add_argument("--programs", default=os.path.join(SOURCES, "build/dev/tests/programs"))
    parser.add_argument("--ways", default=os.path.join(SOURCES, "build/dev/tests/check/check_ways"))
    parser.add_argument("--work", default=os.path.join(SOURCES, "build/dev/tests/check/work"))
    parser.add_argument("case", nargs="?")
    options = parser.parse_args()
    # Not this user's.
    os.environ["XDG_CACHE_HOME"] = os.path.abspath(options.work) + ".cache"
    if options.list:
        print("\n".join(cases()))
        return 0
    programs = {name: function for name, (function, _) in cases_clean.programs().items()}
    corpus = cases_corpus.programs(options.part)
    if options.corpus:
        programs = corpus
    if options.all or options.corpus:
        import concurrent.futures  # which the many single cases start faster without

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda name: run(name, programs[name], options, PATIENCE), programs))
        good, skipped = results.count(0), results.count(SKIPPED)
        bad = len(results) - good - skipped
        print(f"{good} programs without a finding, {bad} with, {skipped} not installed")
        return 1 if bad else 0
    return run(options.case, {**cases(), **programs, **corpus}[options.case], options)


sys.exit(main())
