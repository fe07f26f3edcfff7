"""What only the engine (--source dbi) does, or does in its own way."""

import re
import subprocess
import time

from box import COMPLETE, INCOMPLETE, check, equal


def is_the_default_without_trace_hardware(box):
    box.record([box.program("hello")], ["--source", "auto"])
    check(b'"source":"dbi"' in open(box.data, "rb").read(), "not recorded by the engine")


def threads_that_run_when_the_process_ends(box):
    """Their packets are handed over: nothing is lost."""
    for how in ("exit", "return", "abort"):
        box.record([box.own("spinners"), how], status={"abort": 134}.get(how, 7))
        report = box.report(COMPLETE)
        equal(sum(task["thread"] for task in report["tasks"]), 4, "threads")


def killed_while_it_runs(box):
    """What was not handed over is missing at the end, and that is said."""
    process = box.start([box.own("spinners"), "wait"])
    check(process.stdout.readline() == b"ready\n", "it does not run")
    pid = int(process.stdout.readline())
    time.sleep(0.2)
    box.run(["kill", "-KILL", str(pid)])
    process.wait(60)
    losses = box.report(INCOMPLETE)["losses"]
    check(losses, "no word of the loss")
    check(all(loss["cause"] == "overflow" for loss in losses), f"{losses}")


def refuses_what_it_does_not_do(box):
    done = box.record([box.program("hello")], ["--source", "dbi", "--debug-log", "."], status=2)
    check(b"remedy: " in done.stderr, f"no remedy: {done.stderr!r}")
    done = box.record([box.program("hello_32")], ["--source", "dbi"], status=126)
    check(b"--source qemu" in done.stderr, f"no remedy: {done.stderr!r}")


def without_ptrace_qemu_records(box):
    """As in containers that forbid it: QEMU where it can, a remedy where not, and the doctor says so."""
    forbidden = [box.own("no_ptrace")]
    done = box.run([*forbidden, *box.command([box.program("hello")], ["--source", "auto"])])
    equal((done.returncode, done.stdout), (0, b"hello\n"), f"recorded ({done.stderr!r})")
    check(b"ptrace is not permitted here" in done.stderr, f"why QEMU: {done.stderr!r}")
    check("complete, nothing lost" in box.read("report", COMPLETE), "the recording is whole")
    done = box.run([*forbidden, *box.command([box.program("hello")], ["--source", "dbi"])])
    equal((done.returncode, done.stdout), (126, b""), "the engine alone")
    check(b"remedy: " in done.stderr, f"no remedy: {done.stderr!r}")
    done = box.run([*forbidden, box.hodo, "doctor"])
    check(b"ptrace is not permitted here" in done.stdout, "the doctor")


def a_debugger_is_recorded_and_what_it_debugs_runs(box):
    """Two cannot hold one process: the debugger has it."""
    box.record([box.tool("gdb"), "-q", "-batch", "-ex", "run", "--args", box.program("hello")])
    report = box.report(INCOMPLETE)
    causes = {loss["cause"] for loss in report["losses"]}
    # It also kills a child that it has only made to try what the kernel can do.
    check("not-recorded" in causes and causes <= {"not-recorded", "overflow"}, f"{causes}")


def execs_that_fail(box):
    """As a shell looks for a command in one folder after another."""
    script = "import os\nfor p in ('/nowhere/x', '/etc/passwd', '/'):\n"
    script += "  try: os.execv(p, [p])\n  except OSError: pass\nos.execv('/bin/echo', ['echo', 'found'])"
    done = box.record(["/usr/bin/python3", "-c", script])
    equal(done.stdout, b"found\n", "output")
    stats = box.stats(COMPLETE)
    check("echo" in box.read("report", COMPLETE), "the program that it executes in the end")
    check(stats["instructions"] > 0, "no instructions")


def without_the_time_stamp_counter(box):
    """The program forbids itself to read it (PR_SET_TSC)."""
    alone = box.run([box.own("no_counter")])
    done = box.record([box.own("no_counter")])
    equal(done.stdout, alone.stdout, "output")
    box.stats(COMPLETE)


def strict_mode_of_seccomp(box):
    """Four system calls are left to the program, and the engine makes others."""
    for how, status in (("exit", 7), ("handler", 7), ("getpid", 128 + 9)):
        for call in ("prctl", "seccomp"):
            command = [box.own("strict"), how, call]
            alone = subprocess.run(command, capture_output=True, timeout=60, check=False)
            equal(alone.returncode % 256, (status if status < 128 else 128 - status) % 256, f"{how}: status alone")
            done = box.record(command, status=status)
            equal(done.stdout, alone.stdout, f"{how}: output")
            box.stats(COMPLETE)


def system_calls_that_the_program_forbids_itself(box):
    """What cannot be recorded for that runs as ever, and it is said."""
    alone = box.run([box.program("seccomp")])
    done = box.record([box.program("seccomp")])
    equal(done.stdout, alone.stdout, "what it did")
    losses = box.report(INCOMPLETE)["losses"]
    equal([loss["cause"] for loss in losses], ["not-recorded"], f"{losses}")
    check("seccomp" in losses[0]["sites"][0]["reason"], f"{losses}")


def in_a_small_cache(box):
    """Code is translated again and again, by each unit, and nothing changes."""
    for options in (["--source", "dbi"], ["--source", "bts"], ["--source", "dbi", "--no-return-compression"]):
        done = box.record([box.program("threads")], [*options, "--cache-size", "1M"])
        equal(done.stdout, box.run([box.program("threads")]).stdout, f"{options}: output")
        box.stats(COMPLETE)
    box.record(["/usr/bin/python3", "-S", "-c", "import json"], ["--cache-size", "1M"])
    summary = re.search(rb'"cache":\{"code_bytes":(\d+),"made_bytes":(\d+),"most_bytes":(\d+),"editions":(\d+)\}', open(box.data, "rb").read())
    code, made, most, editions = map(int, summary.groups())
    check(most < 768 << 10, f"{most} bytes in one edition of 512 KB")
    check(editions > 4 and made > code > 0, f"{editions} editions, {made} bytes of {code}")
    done = box.record([box.program("hello")], ["--cache-size", "1000"], status=2)
    check(b"at least 1M" in done.stderr, f"{done.stderr!r}")
    done = box.record([box.program("hello")], ["--source", "qemu", "--cache-size", "2M"], status=2)
    check(b"--cache-size" in done.stderr, f"{done.stderr!r}")
