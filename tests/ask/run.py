#!/usr/bin/env python3
"""Asks recordings of small programs for moments, calls, crashes and differences.

    run.py CASE --hodo HODO --programs DIR --moments MOMENTS_CHECK --work DIR
    run.py --list

A case is a function case_NAME of one of the cases_*.py modules. Exit status 77: skipped, since its recorder does not work here.
"""

import argparse
import os
import shutil
import sys

import cases_calls
import cases_diff
import cases_diff_builds
import cases_ends
import cases_exports
import cases_inlined
import cases_moments
from box import Case, Failed

MODULES = (cases_moments, cases_calls, cases_ends, cases_inlined, cases_diff, cases_diff_builds, cases_exports)


def cases():
    out = {name[5:]: f for module in MODULES for name, f in vars(module).items() if name.startswith("case_")}
    for name, how in cases_moments.MOMENTS.items():
        out[name] = lambda case, how=how: cases_moments.moments(case, *how)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", nargs="?")
    parser.add_argument("--list", action="store_true")
    for option in ("--hodo", "--programs", "--moments", "--work"):
        parser.add_argument(option)
    args = parser.parse_args()
    if args.list:
        print("\n".join(cases()))
        return 0
    work = os.path.join(args.work, args.case)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    try:
        cases()[args.case](Case(args, work))
    except Failed as failed:
        print(failed)
        return 1
    shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
