#!/usr/bin/python3
"""run.py commands|output|branches|call ...: programs on the engine.

commands: Debian's own programs print the same and end the same as natively.
output PROGRAM...: so do these.
random PROGRAM SEED...: so does this one, which runs random code (random_code.c), with each of these seeds.
branches PROGRAM: a static program does, and `hodo branches` reads from its packets the very branches that single
steps of a native run show, in their order. Both run without ASLR, in the same environment.
call PROGRAM: this one (before_call.c) has signals come just before a system call, and they are not late.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile

COMMANDS = [
    ["ls", "-l", "/usr/bin"],
    ["gzip", "-9", "-c", "/usr/bin/perl"],
    ["xz", "-0", "-c", "/usr/bin/perl"],
    ["perl", "-e", 'print join(",", sort { $a <=> $b } map { $_ * 7919 % 1009 } 1..2000), eval { die "x\\n" }, $@'],
    ["/usr/bin/python3", "-S", "-E", "-c", "print(sum(x * x % 7 for x in range(30000)), sorted(map(str, range(300))))"],
    ["sqlite3", ":memory:", "with recursive n(x) as (select 1 union all select x+1 from n where x<9999) select sum(x) from n"],
    ["openssl", "speed", "-help"],
    ["openssl", "dgst", "-sha512", "/usr/bin/perl"],
    ["mawk", "BEGIN { for (i = 0; i < 20000; ++i) n += i % 7 * substr(i \"x\", 1, 1); print n }"],
    ["sh", "-c", "exit 3"],
    ["false"],
]
# The engine answers rseq's registration with ENOSYS; so must the kernel here, for the same path.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "GLIBC_TUNABLES": "glibc.pthread.rseq=0"}
TAKEN = ("cond", "jmp", "ijmp", "call", "icall", "ret")


PATIENCE = 120  # seconds for one run


def content(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return " ".join(file.read().split())
    except OSError as error:
        return str(error)


def describe_group(group):
    """Where each thread of these processes stands: its name, state and times, and its system call."""
    lines = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        stat = content(f"/proc/{pid}/stat").rpartition(")")[2].split()
        if len(stat) < 3 or stat[2] != str(group):
            continue
        for tid in os.listdir(f"/proc/{pid}/task"):
            task = f"/proc/{pid}/task/{tid}"
            lines.append(f"{pid}/{tid}: {content(task + '/stat')}\n  {content(task + '/syscall')}")
    return "\n".join(lines)


def run(command):
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=ENVIRONMENT, start_new_session=True) as process:
        try:
            out, errors = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            where = describe_group(process.pid)
            os.killpg(process.pid, signal.SIGKILL)
            sys.exit(f"{command} has not ended after {PATIENCE} s:\n{where}")
    return process.returncode, out, errors


def cache_size(options):
    return ["--cache-size", options.cache_size] if options.cache_size else []


def compare_runs(options, command):
    native = run(["setarch", "-R", *command])
    engine = run([options.run, options.engine, "--no-random", *cache_size(options), "--", *command])
    if engine == native:
        return
    lines = zip(native[1].splitlines(), engine[1].splitlines())
    first = next((f"{one.decode()!r} and {other.decode()!r}" for one, other in lines if one != other), "a part is missing")
    sys.exit(f"{command}: natively {native[0]} {native[2]}, on the engine {engine[0]} {engine[2]}, first difference: {first}")


def taken_branches(hodo, arguments):
    status, out, errors = run([hodo, "branches", "--format", "csv", *arguments])
    if status != 0:
        sys.exit(f"hodo branches {arguments}: exit status {status}: {errors.decode()}")
    rows = (line.split(",") for line in out.decode().splitlines())
    return [tuple(row[5:8]) for row in rows if row[7] in TAKEN]


def compare_branches(options):
    (program,) = options.program
    with tempfile.TemporaryDirectory(prefix="hodo-engine-") as work:
        packets, steps = os.path.join(work, "packets"), os.path.join(work, "steps")
        native = run([program])
        run(["setarch", "-R", options.hodo, "record", "-q", "--source", "step", "-o", steps, "--", program])
        seen = taken_branches(options.hodo, [steps])
        for way in ([], *(again.split() for again in options.again)):
            engine = run([options.run, options.engine, "--no-random", *way, "-o", packets, "--", program])
            if engine != native:
                sys.exit(f"natively {native}, on the engine {way} {engine}")
            read = taken_branches(options.hodo, ["--raw", "pt", packets, "--image", f"elf:{program}"])
            compare_with_steps(seen, read, way)


def compare_with_steps(seen, read, way):
    for at, (one, other) in enumerate(zip(seen, read)):
        if one != other:
            sys.exit(f"{way} branch {at}: steps saw {seen[at - 5 : at + 1]}, the packets say {read[at - 5 : at + 1]}")
    if len(seen) != len(read) or len(read) < 1000:
        sys.exit(f"{way} steps saw {len(seen)} branches, the packets say {len(read)}")
    print(f"{len(read)} branches {' '.join(way)}")


def signal_before_call(options):
    symbols = subprocess.run(["nm", options.engine], capture_output=True, text=True, check=True).stdout
    (check,) = (line.split()[0] for line in symbols.splitlines() if line.endswith(" glue_syscall_check"))
    status, out, errors = run([*options.program, options.run, options.engine, check])
    if (status, out) != (0, b"as natively\n"):
        sys.exit(f"exit status {status}: {out.decode()}{errors.decode()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=["commands", "output", "random", "branches", "call"])
    parser.add_argument("program", nargs="*")
    parser.add_argument("--engine", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--hodo")
    parser.add_argument("--cache-size", help="of the engine, in bytes")
    parser.add_argument("--again", action="append", default=[], help="run it again with this option of engine-run, and hold it against the same steps")
    options = parser.parse_args()
    if options.what == "branches":
        return compare_branches(options)
    if options.what == "call":
        return signal_before_call(options)
    if options.what == "commands":
        commands = COMMANDS
    elif options.what == "random":
        commands = [[options.program[0], seed, "5"] for seed in options.program[1:]]
    else:
        commands = [[program] for program in options.program]
    for command in commands:
        compare_runs(options, command)
    print(f"{len(commands)} commands")


main()
