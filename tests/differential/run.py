#!/usr/bin/python3
"""Records one program of cases.txt and holds three accounts of its branches against each other:
what `hodo branches` and what `perf script` read from the recording, and what the watcher saw.
With --source bts or lbr the trace unit records BTS records, or samples with branch stacks. With --source dbi the engine
records, whom no watcher sees: there are two accounts, and tests/engine has a third, of single steps.

Exit status 0: all equal; 1: not; 77: the program is not installed.
"""

import argparse
import errno
import os
import shutil
import subprocess
import sys
import time

import cases
import compare
import listed
import watched
from branch_list import BranchList

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import emulated  # noqa: E402  # pylint: disable=wrong-import-position

SKIPPED = 77
TIMEOUT = 500
# How many lines one list may have more of a thread that was killed: the recorder and the watcher are
# called one after the other, so one of them may have missed the last block.
CUT_TAIL = 2
# Branches from one branch stack to the next: small, and no multiple of any loop's length.
PERIOD = 97
# Cases that execute programs, with which the stack and its counter begin anew. The watcher's list
# does not show where.
EXECUTE = {"exec_chain"}


class Failure(Exception):
    """Why the case failed, as text."""


class Skip(Exception):
    """What the case needs and this machine has not."""


def shell_status(returncode):
    return 128 - returncode if returncode < 0 else returncode


def run_program(case, arguments, work):
    """The program alone: what its output and exit status have to be."""
    try:
        done = subprocess.run(
            arguments, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT
        )
    except OSError as error:
        # Not every kernel runs 32-bit programs; QEMU alone does.
        if error.errno != errno.ENOEXEC:
            raise
        return run_program(case, ["qemu-i386", *arguments], work)
    status = shell_status(done.returncode)
    if status != case.status:
        raise Failure(f"without hodo the exit status is {status}, expected {case.status}")
    return done.stdout


def record(case, options, arguments, work, expected_output):
    data, log = os.path.join(work, "trace.data"), os.path.join(work, "watched")
    os.mkdir(log)
    source = ["--source", options.source]
    if options.source != "dbi":
        source += ["--debug-log", log]
    if options.source == "lbr":
        source += ["--period", str(PERIOD)]
    command = [options.hodo, "record", *source, "-o", data, "--", *arguments]
    done = subprocess.run(
        command, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT
    )
    said = done.stderr.decode(errors="replace")
    if why := emulated.was_missed(options.hodo, done.returncode, said):
        raise Skip(why)
    if shell_status(done.returncode) != case.status:
        raise Failure(f"recorded, it exits with {done.returncode}, expected {case.status}\n{said}")
    # The program's output comes first; hodo's report, if any, after it.
    if not case.varies and not done.stdout.startswith(expected_output):
        raise Failure(f"recorded, it prints something else\n{done.stdout!r}\n{expected_output!r}")
    return data, log


def succeeded(who, found, status, said):
    """What was found, without a word said about it."""
    if status != 0 or said:
        raise Failure(f"{who}: exit status {status}\n{said}")
    return found


def hodo_list(options, data):
    return succeeded("hodo branches", *options.lister.hodo([options.hodo, "branches", data, "--format", "csv"]))


def perf_list(options, data):
    return succeeded("perf script", *options.lister.perf(data))


def perf_stacks(data):
    done = subprocess.run(["perf", "script", "-F", "tid,ip,brstack", "-i", data], capture_output=True, text=True, timeout=TIMEOUT)
    return succeeded("perf script", listed.perf_stacks(done.stdout.splitlines()), done.returncode, done.stderr)


def compare_stacks(options, data, witness):
    """The same for a recording of branch stacks: those that the watcher's list comes to."""
    windows = {tid: listed.windows(lines, PERIOD) for tid, lines in witness.items()}
    expected = {tid: lines for tid, lines in windows.items() if lines}
    ours = {tid: listed.of_stacks(lines) for tid, lines in hodo_list(options, data).items()}
    report = [] if options.case in EXECUTE else compare.threads("watcher", expected, "hodo", ours)
    addresses = {tid: listed.addresses(lines) for tid, lines in ours.items()}
    report += compare.threads("hodo", addresses, "perf", perf_stacks(data))
    branches = sum(len(lines) for lines in expected.values())
    return report, f"{branches} branches in stacks of {len(expected)} threads"


def compare_two(options, data):
    ours = hodo_list(options, data)
    reduced = {tid: listed.as_perf_says(lines) for tid, lines in ours.items()}
    branches = sum(len(lines) for lines in ours.values())
    if branches == 0:
        raise Failure("hodo reads no branch")
    return compare.threads("hodo", reduced, "perf", perf_list(options, data)), f"{branches} branches in {len(ours)} threads"


def compare_lists(case, options, data, log):
    """Reports of every pair that differs, and what was compared in one line."""
    if options.source == "dbi":
        return compare_two(options, data)
    seen = watched.read(log)
    witness = {tid: lines for tid, (lines, _) in seen.items()}
    tails = {tid: CUT_TAIL for tid, (_, whole) in seen.items() if not whole} if case.cut else {}
    if not witness:
        raise Failure("the watcher saw nothing")
    for tid, (_, whole) in seen.items():
        if not whole and not case.cut:
            raise Failure(f"thread {tid} was cut off")
    if options.source == "lbr":
        return compare_stacks(options, data, witness)
    ours = hodo_list(options, data)
    paused = {tid: listed.without_pauses(lines) for tid, lines in ours.items()}
    steady = {tid: lines for tid, (lines, _) in paused.items()}
    if options.source == "bts":
        witness = {
            tid: listed.as_bts_says(lines, steady.get(tid, BranchList())) for tid, lines in witness.items()
        }
    report = compare.threads("watcher", witness, "hodo", steady, tails)
    theirs = perf_list(options, data)
    if options.source == "bts":
        # perf looks a record's instruction up in the code that was there last, and tells no kind of
        # a record where tracing ends.
        reduced = {tid: listed.addresses(lines) for tid, lines in ours.items()}
        theirs = {tid: listed.addresses(lines) for tid, lines in theirs.items()}
    else:
        reduced = {tid: listed.as_perf_says(lines) for tid, lines in ours.items()}
    report += compare.threads("hodo", reduced, "perf", theirs)
    branches = sum(len(lines) for lines in witness.values())
    pauses = sum(count for _, count in paused.values())
    return report, f"{branches} branches and {pauses} pauses in {len(witness)} threads"


def run(case, options, work):
    cases.write_inputs(work)
    arguments = case.arguments(options.programs, work)
    if shutil.which(arguments[0]) is None:
        print(f"skipped: {arguments[0]} is not installed")
        return SKIPPED
    started = time.monotonic()
    output = run_program(case, arguments, work)
    data, log = record(case, options, arguments, work, output)
    recorded = time.monotonic()
    report, compared = compare_lists(case, options, data, log)
    print(f"{case.name}: {compared}, {os.path.getsize(data)} bytes;"
          f" recorded in {recorded - started:.1f} s, compared in {time.monotonic() - recorded:.1f} s")
    if report:
        raise Failure("\n".join(report))
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hodo", required=True)
    parser.add_argument("--programs", required=True, help="folder of the fixture programs")
    parser.add_argument("--lists", required=True, type=listed.Lister, dest="lister", help="folder of the programs that read lists of branches")
    parser.add_argument("--work", required=True, help="folder for this case; kept when it fails")
    parser.add_argument("--source", default="qemu", choices=["qemu", "bts", "lbr", "dbi"])
    parser.add_argument("case")
    options = parser.parse_args()
    work = os.path.abspath(options.work)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    try:
        status = run(cases.read()[options.case], options, work)
    except Skip as reason:
        print(f"skipped: {reason}")
        status = SKIPPED
    except (Failure, OSError, ValueError, subprocess.TimeoutExpired) as error:
        print(f"{options.case}: {error}\nkept: {work}")
        return 1
    shutil.rmtree(work)
    return status


if __name__ == "__main__":
    sys.exit(main())
