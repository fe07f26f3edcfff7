"""Branch trace store and last branch records in place of Intel PT packets."""

import glob
import json
import os
import struct

from box import Skip, check, equal

import listed

# A program whose branches are the same in every run: no addresses that vary, no time.
STEADY = "exceptions"


def _path(box, *options):
    """The branches of the one thread, without the places where recording paused or began anew."""
    box.record([box.program(STEADY)], options, env={})
    lists = list(box.branches().values())
    equal(len(lists), 1, "threads")
    return listed.without_pauses(lists[0])[0]


def bts_and_pt_are_the_same_path(box):
    packets = _path(box)
    check(len(packets) > 10000, "a path worth the name")
    equal(_path(box, "--source", "bts") == packets, True, "BTS tells the path that PT tells")


def bts_counts_what_pt_counts(box):
    _path(box)
    pt = box.stats()
    _path(box, "--source", "bts")
    bts = box.stats()
    for kind in ("cond", "jmp", "ijmp", "call", "icall", "ret", "syscall"):
        equal(bts["branches"]["kinds"][kind], pt["branches"]["kinds"][kind], kind)
    equal(bts["instructions"], pt["instructions"], "instructions")


def bts_records_are_listed_one_by_one(box):
    path = _path(box, "--source", "bts")
    records = box.read("packets", 0, options=["--json"]).splitlines()
    equal(len(records), len(path), "records")
    equal(box.read("packets", 0, options=["--counts"]), f"{len(path)} BTS records\n", "count")


def altered_bts_records_are_left_out_and_told_of(box):
    path = _path(box, "--source", "bts")
    first = json.loads(box.read("packets", 0, options=["--json"]).splitlines()[0])
    with open(box.data, "rb+") as file:
        content = file.read()
        words = struct.pack("<QQ", int(first["from"], 16), int(first["to"], 16))
        file.seek(content.index(words) + 24 * 5000)
        file.write(b"\x01\x02\x03\x04")
    for options in (["--json"], ["--counts"]):
        said = box.read("packets", 3, options=options)
        left = int(said.split()[0]) if options == ["--counts"] else len(said.splitlines())
        check(len(path) - 256 <= left < len(path), f"{left} of {len(path)} records")
    kept = {line for line in next(iter(box.branches(3).values())) if not line.startswith(("lost", "begin", "end"))}
    check(kept <= set(path), "no branch is invented")


def bts_in_a_small_buffer(box):
    large = _path(box, "--source", "bts")
    check(_path(box, "--source", "bts", "--buffer-size", "64K") == large, "nothing is lost")


def bts_of_a_long_run(box):
    """So long that the trace goes past the page cache."""
    command = [box.own("spin"), "0", "60"]
    box.record(command, env={})
    pt = box.stats()["branches"]
    box.record(command, ["--source", "bts"], env={})
    bts = box.stats()["branches"]
    for kind in ("cond", "call", "ret"):
        equal(bts["kinds"][kind], pt["kinds"][kind], kind)
    size = os.path.getsize(box.data)
    check(size > 100 << 20, f"{size} bytes are no long run")


def bts_is_what_perf_reads(box):
    _path(box, "--source", "bts")
    ours = {tid: listed.addresses(lines) for tid, lines in box.branches().items()}
    theirs = {tid: listed.addresses(lines) for tid, lines in box.perf().items()}
    check(ours == theirs, "hodo's and perf's lists differ")


def lbr_has_a_stack_every_period(box):
    path = _path(box)
    box.record([box.program(STEADY)], ["--source", "lbr", "--period", "500"], env={})
    stats = box.stats()
    executed = sum(not line.startswith(("begin", "end")) for line in path)
    equal(stats["branches"]["kinds"]["begin"], executed // 500, "stacks")
    window = listed.of_stacks(next(iter(box.branches().values())))
    check(window == listed.windows(path, 500), "the stacks are those of the path")


def lbr_stacks_feed_bolt(box):
    bolts = sorted(glob.glob("/usr/lib/llvm-*/bin/perf2bolt"))
    if not bolts:
        raise Skip("perf2bolt is not installed (package bolt-19)")
    box.tool("perf")
    box.record([box.program("dispatch")], ["--source", "lbr", "--period", "100"])
    out = box.path("profile")
    done = box.run([bolts[-1], "-p", box.data, "-o", out, box.program("dispatch")])
    said = (done.stdout + done.stderr).decode(errors="replace")
    equal(done.returncode, 0, f"perf2bolt {said[-1500:]}")
    with open(out, encoding="utf-8") as file:
        branches = [line.split() for line in file if "main" in line]
    check(branches, f"perf2bolt found no branch of main: {said[-1500:]}")
    check(os.path.getsize(out) > 0, "a profile")


def a_program_that_execs_and_forks(box):
    for source, *options in (["bts"], ["lbr", "--period", "50"]):
        box.record(["sh", "-c", "/bin/echo one; ls / | wc -l"], ["--source", source, *options])
        names = box.names(None)  # an LBR stack does not show where SIGCHLD came in: a gap
        check({"sh", "echo", "ls", "wc"} <= set(names), f"{source}: {names}")
