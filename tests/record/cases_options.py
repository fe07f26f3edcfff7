"""What the options change, and what they must not."""

import os

from box import check, equal

# A program whose branches are the same in every run: no addresses that vary, no time.
STEADY = "exceptions"


def _branches(box, options=()):
    """The one thread's list, which perf has to agree with."""
    box.record([box.program(STEADY)], options, env={})
    lists = list(box.agrees_with_perf().values())
    equal(len(lists), 1, "threads")
    return _without_pauses(lists[0])


def _without_pauses(branches):
    """Where code is fresh the trace waits for the recorder: it ends at an address, and begins there again. How often
    depends on how it is recorded."""
    out = []
    for branch in branches:
        kind, _, target = branch.split()
        if kind == "begin" and out and out[-1] == f"end {target} 0":
            out.pop()
        else:
            out.append(branch)
    return out


def _same_as_default(box, *options):
    plain = _branches(box)  # first: the recording with the options stays
    check(_branches(box, options) == plain, f"{options} changed the branches")


def no_return_compression(box):
    _same_as_default(box, "--no-return-compression")


def psb_period(box):
    _same_as_default(box, "--psb-period", "2048")
    packets = box.read("packets", 0)
    check(packets.count("PSB") > 2, "no more PSBs than without")


def cyc(box):
    _same_as_default(box, "--cyc")


def no_timing(box):
    _same_as_default(box, "--no-timing")
    equal(box.stats()["packets"]["kinds"].get("TSC"), None, "TSC packets")


def small_buffer(box):
    _same_as_default(box, "--buffer-size", "64K")


def buffer_limits(box):
    """The smallest is 64K; what is larger than the largest is refused."""
    _same_as_default(box, "--buffer-size", "1")
    done = box.record([box.program("hello")], ["--buffer-size", "2G"], status=2)
    check(b"at most 1G" in done.stderr, f"{done.stderr!r}")


def everything(box):
    _same_as_default(
        box, "--no-return-compression", "--psb-period", "2048", "--cyc", "--buffer-size", "64K"
    )


def bad_values(box):
    for options in (
        ["--psb-period", "1000"],
        ["--psb-period", "1024"],
        ["--max-size", "many"],
        ["--max-size", "0"],
        ["--buffer-size", "1X"],
        ["--source", "guess"],
        ["--filter", ""],
        ["--filter", "main"],
        ["--filter", "0x2000-0x1000"],
        ["--filter", "no_such_function@" + box.program("hello")],
        ["--filter", "main@/no/such/file"],
        ["--filter", "0/0@" + box.program("hello")],
        ["--no-such-option"],
        ["--on-finding", "stop"],
        ["--suppress", "/dev/null"],
        ["--check", "--suppress", "/no/such/file"],
        ["-p", "1"],
        ["--filter", "1-2", "--filter", "3-4", "--filter", "5-6", "--filter", "7-8", "--filter", "9-a"],
    ):
        done = box.record([box.program("hello")], options, status=2)
        equal(done.stdout, b"", f"output with {options}")
        check(done.stderr.startswith(b"hodo: "), f"{options}: {done.stderr!r}")


def options_of_other_sources(box):
    """What would have no effect is refused, with the source that it goes with."""
    packets = (["--cyc"], ["--no-timing"], ["--no-return-compression"], ["--psb-period", "16384"])
    refused = {
        "auto": [["--period", "10007"]],
        "qemu": [["--period", "10007"]],
        "pt": [["--period", "10007"], ["--debug-log", box.work]],
        "bts": [["--period", "10007"], *packets],
        "lbr": packets,
        "step": [["--period", "10007"], *packets, ["--buffer-size", "1M"]],
    }
    for source, options in refused.items():
        for option in options:
            done = box.record([box.program("hello")], ["--source", source, *option], status=2)
            said = done.stderr.decode()
            check(
                said.startswith(f"hodo: {option[0]} does not go with --source {source}"),
                f"{source} {option}: {said!r}",
            )
            check("it is an option of" in said, f"whose {option} is: {said!r}")


# --- filters ---


def _symbol(box, program, name):
    """(address in the file, size) of a function."""
    done = box.run([box.tool("nm"), "-S", program])
    for line in done.stdout.decode().splitlines():
        words = line.split()
        if len(words) == 4 and words[3] == name:
            return int(words[0], 16), int(words[1], 16)
    raise AssertionError(f"no symbol {name}")


def _inside(box, filters, low, high):
    """Records with filters and checks that nothing else was traced: every branch starts in
    [low, high), or is the one that enters it."""
    options = [word for text in filters for word in ("--filter", text)]
    box.record([box.program("hello_nopie")], options)
    lists = box.agrees_with_perf(kinds=False)
    found = 0
    for line in [line for lines in lists.values() for line in lines]:
        kind, source, target = line.split()
        source, target = int(source, 16), int(target, 16)
        found += 1
        if kind == "begin":
            check(low <= target < high, f"{line} is not in {low:x}-{high:x}")
        else:
            check(low <= source < high, f"{line} is not in {low:x}-{high:x}")
    check(found > 1, "nothing was recorded")
    return lists


def filter_by_symbol(box):
    program = box.program("hello_nopie")
    address, size = _symbol(box, program, "main")
    _inside(box, [f"main@{program}"], address, address + size)


def filter_by_address(box):
    program = box.program("hello_nopie")
    address, size = _symbol(box, program, "main")
    by_address = _inside(box, [f"{address:#x}-{address + size:#x}"], address, address + size)
    by_symbol = _inside(box, [f"main@{program}"], address, address + size)
    equal(list(by_symbol.values()), list(by_address.values()), "the lists by symbol and by address")


def filter_by_offset(box):
    program = box.program("hello_nopie")
    address, size = _symbol(box, program, "main")
    offset = address - 0x400000  # a -no-pie program's text lies there by default
    _inside(box, [f"{offset:#x}/{size:#x}@{program}"], address, address + size)


def filter_by_file(box):
    program = box.program("hello_nopie")
    _inside(box, [f"@{program}"], 0x400000, 0x500000)


def filter_of_a_library(box):
    """By symbol in a shared library, whose address is only known when it is loaded."""
    box.record(["ls", "/"], ["--filter", "malloc@/lib/x86_64-linux-gnu/libc.so.6"])
    lists = box.agrees_with_perf(kinds=False)
    report = box.report()
    names = {f["function"] for f in report["functions"] if f["instructions"] > 0}
    check(sum(len(lines) for lines in lists.values()) > 10, "hardly a branch was recorded")
    equal(names, {"malloc"}, "functions")


def two_filters(box):
    program = box.program("recursion")
    box.record([program], ["--filter", f"main@{program}"])
    alone = sum(len(lines) for lines in box.agrees_with_perf(kinds=False).values())
    box.record([program], ["--filter", f"main@{program}", "--filter", f"@{program}"])
    both = sum(len(lines) for lines in box.agrees_with_perf(kinds=False).values())
    check(both > alone > 0, f"{both} branches with a second filter, {alone} without")


def filter_that_never_hits(box):
    done = box.record([box.program("hello_nopie")], ["--filter", "0x1000-0x2000"])
    equal(done.stdout, b"hello\n", "output")
    equal(sum(len(lines) for lines in box.branches().values()), 0, "branches")


def filter_with_threads_and_signals(box):
    for name in ("threads", "signals", "exceptions", "longjmp"):
        program = box.program(name)
        box.record([program], ["--filter", f"@{program}"])
        box.agrees_with_perf(kinds=False)


def output_is_no_stream(box):
    """A recording cannot go to standard output; "-" is not the name of a file either."""
    for command in (
        ["record", "-o", "-", "--", "true"],
        ["vm", "record", "-o", "-", "--", "true"],
        ["vm", "attach", "-o", "-", "--qmp", "none"],
    ):
        done = box.run([box.hodo, *command])
        equal(done.returncode, 2, f"exit status of {command}")
        check(b"standard output" in done.stderr and b"-o ./-" in done.stderr, f"{done.stderr!r}")
        check(not os.path.exists(box.path("-")), "a file named - was written")
    box.record([box.program(STEADY)])
    done = box.run([box.hodo, "check", "-o", "-", box.data])
    check(done.stdout != b"" and not os.path.exists(box.path("-")), "-o - of a reading command")
