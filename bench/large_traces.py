#!/usr/bin/python3
"""How fast long traces are read: records programs of different kinds with the engine, up to --megabytes each, then runs
the reading commands on each recording in turn, all on one processor. Prints processor time (user and system) as MB of
the recording in a second, the peak of memory, and what a command takes of `hodo stats`, which only counts.

    cmake --preset release && ninja -C build/release
    bench/large_traces.py --hodo build/release/src/cli/hodo
    bench/large_traces.py --hodo build/dev/src/cli/hodo --megabytes 30 --commands stats,report perl sort

Timing packets and compressed returns are left out, so that other decoders read the same traces. The working set that
it prints is how many basic blocks ran, as `hodo coverage` has them: a step of 16 bytes each. With --before, another
hodo runs each command in turn with the first.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
COMMANDS = {
    "stats": ["stats"],
    "coverage": ["coverage"],
    "report": ["report"],
    "calls": ["calls"],
    "check": ["check"],
    "bin": ["branches", "--format", "bin"],
}

JSON = """
import json
table = {str(i): [i, str(i) * 3, {"a": i / 7}] for i in range(3000)}
for _ in range(100):
    assert json.loads(json.dumps(table, indent=1)) == table
"""
PERL = """
for my $round (1 .. 100) { my %h; $h{"k$_"} = $_ for 1 .. 40000; my $s = 0; $s += $h{$_} for sort keys %h; }
"""
SQL = """
create table t(a integer, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)
  insert into t select i, 'row ' || i from n;
create index x on t(b);
select count(*), sum(length(b)) from t where b like '%7%';
select a % 100, count(*) from t group by 1 order by 2, 1;
"""
SHELL = "i=0; s=0; while [ $i -lt 300000 ]; do s=$(((s * 31 + i) % 65521)); i=$((i + 1)); done; echo $s"


def programs(work):
    """Name to command; all work on what this machine has."""
    sort = os.path.join(work, "sort")
    subprocess.run(["g++", "-O2", "-o", sort, os.path.join(PROGRAMS, "sort.cc")], check=True)
    cc1plus = subprocess.run(
        ["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True
    ).stdout.strip()
    compiler = [cc1plus, "-quiet", "-O1", "-D_GNU_SOURCE", "-imultiarch", "x86_64-linux-gnu"]
    return {
        "compile": [*compiler, os.path.join(PROGRAMS, "templates.cc"), "-o", "/dev/null"],
        "python": ["/usr/bin/python3", "-S", "-E", os.path.join(PROGRAMS, "interpreted.py")],
        "json": ["/usr/bin/python3", "-E", "-c", JSON],
        "perl": ["/usr/bin/perl", "-e", PERL],
        "sqlite": ["/usr/bin/sqlite3", ":memory:", SQL],
        "gzip": ["/bin/gzip", "-6", "-c", cc1plus],
        "shell": ["/bin/bash", "-c", SHELL],
        "sort": [sort],
    }


def record(hodo, command, file, megabytes):
    """Up to the given size: how the program ends is nobody's business."""
    how = ["-q", "--source", "dbi", "--no-timing", "--no-return-compression", "--max-size", f"{megabytes}M"]
    subprocess.run(
        [hodo, "record", *how, "-o", file, "--", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    if not os.path.exists(file):
        sys.exit(f"large_traces: '{command[0]}' could not be recorded; try: hodo record -- {command[0]}")


def run(hodo, words, file):
    """Seconds of processor time, and MB of memory at most."""
    with subprocess.Popen([hodo, *words, file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1, 3):  # findings and losses are answers, too
        sys.exit(f"large_traces: hodo {' '.join(words)} ended with status {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def blocks_that_ran(hodo, file):
    """Line by line: what this process has in memory would count as its children's at their start."""
    blocks = 0
    with subprocess.Popen(
        [hodo, "coverage", "--json", file], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:
        for line in child.stdout:
            if found := re.match(r' ?\{"path":.*"blocks_hit":(\d+)', line):
                blocks += int(found[1])
    return blocks


def measure(options, name, command, file):
    record(options.hodo, command, file, options.megabytes)
    megabytes = os.path.getsize(file) / 1e6
    print(f"{name}: {megabytes:.0f} MB, {blocks_that_ran(options.hodo, file):,} blocks ran", flush=True)
    counted = None
    for word in options.commands.split(","):
        times = {hodo: [] for hodo in (options.before, options.hodo) if hodo}
        most = 0.0
        for _ in range(options.runs):
            for hodo, seconds in times.items():
                taken, memory = run(hodo, COMMANDS[word], file)
                seconds.append(taken)
                most = max(most, memory) if hodo == options.hodo else most
        middle = statistics.median(times[options.hodo])
        counted = middle if word == "stats" else counted
        spread = f"{min(times[options.hodo]):.2f}-{max(times[options.hodo]):.2f} s"
        line = f"  {word:9} {megabytes / middle:6.0f} MB/s  {spread}  {most:4.0f} MB"
        if counted:
            line += f"  {middle / counted:5.2f} of stats"
        if options.before:
            line += f"  {middle / statistics.median(times[options.before]):.2f} of before"
        print(line, flush=True)
    os.remove(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--hodo", required=True)
    parser.add_argument("--before", help="another hodo, to compare with")
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as work:
        known = programs(work)
        for name in options.programs or known:
            measure(options, name, known[name], os.path.join(work, "trace"))


if __name__ == "__main__":
    main()
