"""Recordings that keep only the newest part of the trace."""

import os
import time

from box import COMPLETE, check, equal, kill

SMALL = ("--buffer-size", "64K")


def _branches(box, rounds, options, status):
    """Of rounds of branches that cannot be foretold: every run takes the same path."""
    box.record([box.own("spin"), "0", str(rounds)], options, env={})
    lists = list(box.branches(status).values())
    equal(len(lists), 1, "threads")
    return lists[0]


def _newest_is_the_end(box, source, rounds, status, *options):
    whole = _branches(box, rounds, ["--source", source, *options], 0)
    newest = _branches(box, rounds, ["--source", source, *SMALL, "--snapshot", *options], status)
    check("a snapshot" in box.read("report", COMPLETE), "the report does not say what this is")
    check(box.report()["snapshot"], "nor does its JSON")
    # Up to one buffer more than was asked for: pieces go when they are not needed at all.
    check(len(newest) * 4 < len(whole) * 3, f"{len(newest)} of {len(whole)} branches were kept")
    check(len(newest) > 1000, f"only {len(newest)} branches were kept")
    # What stands before the first branch says where it begins.
    check(newest[2:] == whole[2 - len(newest) :], "they are the last ones")


def pt(box):
    _newest_is_the_end(box, box.source, 12, COMPLETE, "--psb-period", "2048")
    box.perf_reads()


def bts(box):
    _newest_is_the_end(box, "bts", 2, 0)
    box.agrees_with_perf(kinds=False)


def bts_of_the_smallest_buffer(box):
    """--buffer-size is rounded up to 64K, and up to as much again is kept."""
    box.record([box.own("spin"), "0", "2"], ["--source", "bts", "--snapshot", "--buffer-size", "4K"])
    kept = 24 * sum(len(lines) for lines in box.branches().values())
    check(64 << 10 <= kept < 128 << 10, f"{kept} bytes were kept")


def lbr(box):
    _newest_is_the_end(box, "lbr", 2, 0, "--period", "32")


def signals_take_more(box):
    process = box.start([box.own("spin")], [*SMALL, "--snapshot"])
    process.stdout.readline()
    size = 0
    for _ in range(3):
        grown = size + 32 * 1024
        while size < grown:
            check(process.poll() is None, "hodo lives")
            kill(process.pid, 12)  # SIGUSR2
            time.sleep(0.02)
            size = os.path.getsize(box.data)
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    with open(children, encoding="ascii") as file:
        kill(int(file.read().split()[0]))
    process.communicate(timeout=60)
    check("recorder-lost" in box.losses(), "what ran between two snapshots is a gap")


def threads_that_have_ended(box):
    """Their newest part stays until a younger one needs the room."""
    box.record([box.program("threads")], ["--snapshot"])
    box.record([box.program("threads")], [], data=box.path("whole"))
    kept = {tid: len(lines) for tid, lines in box.branches().items()}
    equal(len(kept), len(box.branches(data=box.path("whole"))), "threads")
