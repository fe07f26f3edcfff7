#!/usr/bin/python3
"""Runs one case of how `hodo record` behaves: a function of one of the cases_*.py modules.

Exit status 0: as it must be; 1: not; 77: a tool that the case needs is not installed.
"""

import argparse
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import traceback

from box import Box, Failure, Skip

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77


# Cases that are not run with the engine: about QEMU, steps or which source is taken, with 32-bit programs, or
# that compare two runs by their addresses, which it leaves as random as they are.
NOT_DBI = re.compile(
    r"(emulator|step)\.|.*_32$|.*_32_bit_|tasks.wide_to_narrow_and_back|coverage.coverage_across_exec"
    r"|status.missing_source|status.nothing_recorded_is_said|hostile.fills_the_ring_of_other_sources"
    r"|ends.(stepped|other_units)"
)


# BTS records and branch stacks of 64-bit programs come from the engine, also where QEMU is what a case gets by default.
NOT_QEMU = re.compile(r"(attach|engine|sources|traced)\.")


def modules():
    return sorted(name[:-3] for name in os.listdir(HERE) if name.startswith("cases_"))


def cases(module):
    """{case: function}: the module's public functions that take a box."""
    loaded = importlib.import_module(module)
    return {
        name: function
        for name, function in vars(loaded).items()
        if inspect.isfunction(function)
        and function.__module__ == module
        and function.__code__.co_varnames[: function.__code__.co_argcount] == ("box",)
        and not name.startswith("_")
    }


def listed(source="qemu", names=None):
    """{case: function} of all modules, or of those named."""
    found = {
        f"{module.removeprefix('cases_')}.{case}": function
        for module in names or modules()
        for case, function in cases(module).items()
    }
    if source == "qemu":
        return {name: case for name, case in found.items() if not NOT_QEMU.match(name)}
    return {name: case for name, case in found.items() if not NOT_DBI.match(name)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true", help="print the cases' names and exit")
    parser.add_argument("--hodo")
    parser.add_argument("--lists", help="folder of the programs that read lists of branches")
    parser.add_argument("--programs", help="folder of the fixture programs")
    parser.add_argument("--own-programs", help="folder of this folder's own programs")
    parser.add_argument("--work", help="folder for this case; kept when it fails")
    parser.add_argument("--source", default="qemu", help="what records where the case does not say")
    parser.add_argument("case", nargs="?")
    options = parser.parse_args()
    if options.list:
        print("\n".join(listed(options.source)))
        return 0
    work = os.path.abspath(options.work)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    box = Box(options, work)
    try:
        listed(options.source, ["cases_" + options.case.partition(".")[0]])[options.case](box)
    except Skip as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    except (Failure, AssertionError, OSError, ValueError, subprocess.TimeoutExpired):
        traceback.print_exc()
        print(f"kept: {work}")
        return 1
    finally:
        box.end_what_still_runs()
    shutil.rmtree(work, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
