"""How a recording says that its processes ended."""

import os

from box import COMPLETE, Skip, check, equal

SEGV, ABRT, FPE, ILL, TRAP, KILL, TERM = 11, 6, 8, 4, 5, 9, 15


def _ended(box, how, status, options=(), program="ends"):
    box.record([box.own(program), *how], options, status=status)
    report = box.report(None)
    ended = [end for end in report.get("ended", []) if end["command"]]
    equal(len(ended), 1, f"ends of the command in {report.get('ended')}")
    text = box.read("report", None)
    head = [line for line in text.splitlines()[:10] if line.startswith("ended")]
    equal(len(head), 1, f"lines in the report's head:\n{text[:600]}")
    return ended[0], head[0]


def _by_signal(box, how, number, place, options=(), program="ends"):
    end, line = _ended(box, [how], 128 + number, options, program)
    equal(end.get("signal"), number, f"{how}: signal")
    check(f"signal {number}" in line, line)
    check("exit_status" not in end, f"{how}: {end}")
    if place is None:
        check("ip" not in end and "unknown" in line, f"{how}: {end}, {line}")
    else:
        check(place in end["place"] and place in line, f"{how}: {end}, {line}")
        check(end["tid"] > 0 and str(end["tid"]) in line, f"{how}: {end}, {line}")
    return end


def exit_status(box):
    for status in (0, 42):
        end, line = _ended(box, ["exit", str(status)], status)
        equal(end["exit_status"], status, "exit status")
        check(f"exit status {status}" in line, line)


def by_interrupt(box):
    """A fork and two exits by INT 0x80 in a 64-bit program."""
    if box.source != "dbi":
        raise Skip("the emulator has no INT 0x80 for 64-bit programs")
    for options in ([], ["--source", "bts"]):
        end, _ = _ended(box, ["interrupt"], 7, options)
        equal(end["exit_status"], 7, "exit status")
        ends = box.report(COMPLETE)["ended"]
        equal(sorted(one["exit_status"] for one in ends), [3, 7], "both processes")
        equal(len(box.branches()), 2, "recorded processes")


def signals(box):
    """With the path up to the place: FUP and TIP.PGD, after which nothing comes."""
    for how, number, place in (
        ("segv", SEGV, "write_to"),
        ("null", SEGV, "0 [unknown]"),
        # A return to what is no address is refused by the processor, where it stands.
        ("nowhere", SEGV, "main" if box.source == "dbi" else "4141414141414141"),
        ("fpe", FPE, "main"),
        ("ill", ILL, "main"),
        ("trap", TRAP, "main"),
        ("abort", ABRT, "libc"),
        ("term", TERM, "kill"),
        ("thread", SEGV, "write_to"),
    ):
        end = _by_signal(box, how, number, place)
        box.stats()
        last = box.branches()[end["tid"]][-1]
        if how in ("segv", "fpe", "ill", "thread"):
            check(end["ip"][2:] in last, f"{how}: the path ends with {last}, not at {end['ip']}")
        if how != "null":  # address 0 is the end of a trace to perf
            box.agrees_with_perf()


def no_frame_to_return_from(box):
    if box.source == "qemu":
        raise Skip("QEMU loses its stack there")
    _by_signal(box, "sigreturn", SEGV, "main")
    box.stats()


def after_the_first_thread(box):
    """It ends before the second one has begun, and the process goes on."""
    end, _ = _ended(box, ["left_exit"], 5)
    equal(end["exit_status"], 5, "exit status")
    check("exits_late" in box.read("calls", COMPLETE), "not recorded")
    # QEMU itself fails when a signal ends such a process.
    if box.source == "dbi":
        _by_signal(box, "left", SEGV, "write_to")
        box.stats()


def sigkill(box):
    """Nobody knows where."""
    _by_signal(box, "kill", KILL, None)


def of_children(box):
    ends = "; ".join(f"{box.own('ends')} {how}" for how in ("segv", "exit 3", "kill"))
    script = box.write("script", f"{ends}; exit 0\n")
    box.record(["/bin/sh", script])
    ended = box.report()["ended"]
    children = {(end.get("signal"), end.get("exit_status")) for end in ended if not end["command"]}
    # Who is killed cannot tell; Linux does, from 6.15 on.
    release = [int(number) for number in os.uname().release.split(".")[:2]]
    killed = KILL if release >= [6, 15] else None
    equal(children, {(SEGV, None), (None, 3), (killed, None)}, "how the children ended")
    text = box.read("report", 0)
    check("SIGSEGV" in "\n".join(text.splitlines()[:10]), text[:600])


def of_the_newborn(box):
    """Also signals that stand for faults, which nothing in the engine blocks for long."""
    for number in (SEGV, TRAP, TERM):
        box.record([box.own("ends"), "newborn", str(number)])


def other_units(box):
    for source in ("bts", "lbr"):
        _by_signal(box, "segv", SEGV, "write_to", ["--source", source])
    # It ends before the first branch stack.
    none = ["--source", "lbr", "--period", "100000000"]
    _by_signal(box, "segv", SEGV, "write_to", none)
    said = box.run([box.hodo, "record", *none, "-o", box.data, "--", box.own("ends"), "exit", "1"]).stderr.decode()
    check("no branch stack was taken" in said and "--period" in said, said)


def stepped(box):
    done = box.record([box.own("ends_static"), "exit", "1"], ["--source", "step"], status=None)
    if done.returncode != 1:
        raise Skip(f"nothing can be stepped here: {done.stderr.decode()}")
    end = _by_signal(box, "segv", SEGV, "write_to", ["--source", "step"], "ends_static")
    last = box.branches(None)[end["tid"]][-1]
    check(end["ip"][2:] in last, f"the path ends with {last}")
    _by_signal(box, "kill", KILL, None, ["--source", "step"], "ends_static")
