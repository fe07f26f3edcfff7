"""Recordings made by stepping with ptrace."""

import signal
import time

from box import COMPLETE, Skip, check, equal, kill

import listed


def _lists(box, status=0):
    """The lists of all threads, oldest thread first."""
    return [lines for _, lines in sorted(box.branches(status).items())]


def the_same_branches_as_by_the_engine(box):
    """Signals, a fault, a child and an exec: the same records as the trace unit writes."""
    program = box.own("stepped")
    box.record([program], ["--source", "bts"], status=5)
    expected = _lists(box)
    box.record([program], ["--source", "step"], status=5)
    found = _lists(box)
    equal(len(expected), 2, "processes")
    check(sum(map(len, expected)) > 70, f"{expected}")
    equal(len([line for line in found[0] if line.startswith("int ")]), 1, f"INT3 in {found}")
    check(found == expected, f"{found}\n{expected}")


def perf_reads_them(box):
    box.record([box.own("stepped")], ["--source", "step"], status=5)
    ours = {tid: listed.addresses(lines) for tid, lines in box.branches().items()}
    theirs = {tid: listed.addresses(lines) for tid, lines in box.perf().items()}
    check(ours == theirs, "hodo's and perf's lists differ")


def stands_in_for_qemu(box):
    """Of 32-bit programs, which the engine does not run."""
    program = box.program("hello_static_32")
    try:
        box.run([program])
    except OSError as error:
        raise Skip("this kernel runs no 32-bit programs") from error
    nothing = {"PATH": "/nonexistent"}
    done = box.record([program], ["--source", "auto"], env=nothing)
    equal(done.stdout, b"hello\n", "output")
    check(b"the program is stepped, thousands of times slower than it is by itself, since qemu-x86_64 is not installed" in done.stderr, f"{done.stderr!r}")
    check(b"--source dbi" not in done.stderr, "it names what records no 32-bit programs")
    box.read("check", COMPLETE)  # calls of the kernel lead through the vDSO
    check(box.stats()["branches"]["taken"] > 1000, "hardly a branch")
    done = box.record([program], ["--source", "dbi"], status=126, env=nothing)
    check(b"remedy: --source step records these" in done.stderr, f"{done.stderr!r}")


def threads(box):
    box.record([box.own("stepped"), "thread"], ["--source", "step"])
    equal(len(_lists(box)), 2, "threads")
    thread = _lists(box)[1]
    check(any(line.startswith("icall") for line in thread), f"{thread}")


def the_program_is_as_if_alone(box):
    done = box.record([box.program("hello_static")], ["--source", "step"])
    equal(done.stdout, box.run([box.program("hello_static")]).stdout, "output")
    check(b"stepping is slow" in done.stderr, "no word about its speed")
    box.stats()


def no_follow_leaves_children_alone(box):
    box.record([box.own("stepped")], ["--source", "step", "--no-follow"], status=5)
    equal(len(_lists(box)), 1, "processes")


def timed_out(box):
    """timeout(1) ends a program that spins, and does not hear it, by two signals."""
    process = box.start([box.own("stepped"), "deaf"], ["--source", "step"])
    equal(process.stdout.readline(), b"ready\n", "the program")
    for _ in range(2):
        kill(process.pid, signal.SIGTERM)
        time.sleep(0.5)
    process.wait(timeout=20)
    equal(process.returncode, 137, "exit status")
    check(box.stats(None)["branches"]["taken"] > 100, "no branches")


def interrupted(box):
    """Ctrl-C ends the recording; the program has it, too."""
    process = box.start([box.own("stepped"), "loop"], ["--source", "step"])
    equal(process.stdout.readline(), b"ready\n", "the program")
    kill(process.pid, signal.SIGINT)
    process.wait(timeout=60)
    check(box.stats(None)["branches"]["taken"] > 100, "no branches")
