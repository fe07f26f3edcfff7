#!/usr/bin/python3
"""What recording costs: whole-process wall and processor time of CPU-bound programs, and of the start of small ones,
natively, under plain qemu-user, under DynamoRIO without a client where its drrun is given, and under `hodo record
--source ...`, in turn, so that a machine whose speed drifts slows all of them.
Prints medians, the spread, and ratios; absolute times mean little on a shared machine. Processor time is that of
the program and of the recorder beside it.

    cmake --preset release && ninja -C build/release
    bench/record_cost.py --hodo build/release/src/cli/hodo
    bench/record_cost.py --hodo build/release/src/cli/hodo --source qemu --source bts sort
    bench/record_cost.py --hodo build/release/src/cli/hodo --source dbi --no-plain true ls forks

Every run's output has to equal the native one's, and every recording has to be complete. For comparison,
the sort also runs once under Valgrind's lackey, which traces superblocks too (skipped without valgrind).
"""

import argparse
import hashlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import typing

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "programs")
DATA_BYTES = 100_000_000


def make_data(path):
    """100 MB that compress as programs do: the machine's own libraries, one after the other."""
    left = DATA_BYTES
    with open(path, "wb") as out:
        for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/bin"):
            for name in sorted(os.listdir(folder)):
                source = os.path.join(folder, name)
                if left and os.path.isfile(source) and os.access(source, os.R_OK):
                    with open(source, "rb") as file:
                        left -= out.write(file.read(left))
    if left:
        sys.exit(f"record_cost: this machine has too few programs to make {DATA_BYTES} bytes of data")


def commands(work):
    data = os.path.join(work, "data")
    make_data(data)
    sort = os.path.join(work, "sort")
    subprocess.run(["g++", "-O2", "-o", sort, os.path.join(PROGRAMS, "sort.cc")], check=True)
    cc1plus = subprocess.run(
        ["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if shutil.which("javac"):
        subprocess.run(["javac", "-d", work, os.path.join(PROGRAMS, "Compiled.java")], check=True)
    compiler = [cc1plus, "-quiet", "-O1", "-D_GNU_SOURCE", "-imultiarch", "x86_64-linux-gnu"]
    return {
        "sort": [sort],
        "gzip": ["/usr/bin/gzip", "-9", "-c", data],
        "python": ["/usr/bin/python3", "-S", "-E", os.path.join(PROGRAMS, "interpreted.py")],
        "compile": [*compiler, os.path.join(PROGRAMS, "templates.cc"), "-o", "-"],
        "node": ["node", os.path.join(PROGRAMS, "compiled.js")],
        "java": ["java", "-cp", work, "Compiled"],
        "true": ["/bin/true"],
        "ls": ["/bin/ls", "-l", "/usr/bin"],
        "forks": ["/bin/sh", "-c", "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done"],
    }


class Cost(typing.NamedTuple):
    """Seconds of one run, its children included."""

    wall: float
    user: float
    system: float

    @property
    def processor(self):
        return self.user + self.system


def timed(command):
    """(cost, hash of the output)"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"record_cost: exit status {done.returncode}: {' '.join(command)}")
    cost = Cost(wall, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime)
    return cost, hashlib.sha256(done.stdout).hexdigest()


def check_recording(path):
    """Complete: decoding it would take as long as everything else, its summary does not."""
    with open(path, "rb") as file:
        file.seek(-min(os.path.getsize(path), 1 << 20), os.SEEK_END)
        if b'"overflows":0' not in file.read():
            sys.exit(f"record_cost: {path} is not complete")


def measure(name, command, options, work):
    """By way of running: the cost of each run; by source: the size of the recording."""
    recordings = {source: os.path.join(work, f"{source}.data") for source in options.source}
    ways = {"native": command}
    if not options.no_plain:
        ways["plain"] = ["qemu-x86_64", *command]
    if options.drrun:
        ways["dynamorio"] = [options.drrun, "--", *command]
    for source, path in recordings.items():
        ways[source] = [options.hodo, "record", "-q", "--source", source, "-o", path, "--", *command]
    costs = {way: [] for way in ways}
    expected = None
    for run in range(options.runs + 1):  # the first warms the caches and does not count
        for way, line in ways.items():
            cost, output = timed(line)
            expected = expected or output
            if output != expected:
                sys.exit(f"record_cost: {name} prints something else under {way}")
            if run > 0:
                costs[way].append(cost)
            if way in recordings:
                forget(recordings[way] + ".old")
    sizes = {}
    for source, path in recordings.items():
        check_recording(path)
        sizes[source] = os.path.getsize(path)
        os.remove(path)
    return costs, sizes


def forget(path):
    """A recording of gigabytes that nobody needs."""
    if os.path.exists(path):
        os.remove(path)


def report(name, costs, sizes):
    def ratio(way, base, of):
        return statistics.median(of(x) / of(y) for x, y in zip(costs[way], costs[base]))

    print(f"{name}: " + ", ".join(f"{source} {size / 1e6:.0f} MB" for source, size in sizes.items()))
    rows = {}
    for way, runs in costs.items():
        walls = [run.wall for run in runs]
        user = statistics.median(run.user for run in runs)
        system = statistics.median(run.system for run in runs)
        line = f"  {way:10}{statistics.median(walls):7.2f} s ({min(walls):.2f}-{max(walls):.2f})"
        line += f"  user {user:6.2f} s  system {system:5.2f} s"
        rows[way] = {
            "to_native": ratio(way, "native", lambda run: run.wall),
            "to_native_processor": ratio(way, "native", lambda run: run.processor),
            "ms_over_native": 1000 * statistics.median(x.wall - y.wall for x, y in zip(runs, costs["native"])),
        }
        if way != "native":
            line += f"  {rows[way]['to_native']:5.2f} x native"
            line += f" ({rows[way]['to_native_processor']:.2f} x processor time, {rows[way]['ms_over_native']:+.0f} ms)"
        if "plain" in costs and way not in ("native", "plain"):
            rows[way]["to_plain"] = ratio(way, "plain", lambda run: run.wall)
            rows[way]["to_plain_processor"] = ratio(way, "plain", lambda run: run.processor)
            line += f"  {rows[way]['to_plain']:5.2f} x plain"
            line += f" ({rows[way]['to_plain_processor']:.2f} x processor time)"
        print(line, flush=True)
    if "qemu" in costs and "bts" in costs:
        print(
            f"  bts is {ratio('bts', 'qemu', lambda run: run.wall):.2f} x qemu"
            f" ({ratio('bts', 'qemu', lambda run: run.processor):.2f} x processor time)",
            flush=True,
        )
    return rows


def lackey(command):
    if shutil.which("valgrind") is None:
        return print("lackey: valgrind is not installed")
    native, _ = timed(command)
    traced = ["valgrind", "--tool=lackey", "--trace-superblocks=yes", "--log-file=/dev/null"]
    took, _ = timed([*traced, *command])
    print(f"lackey --trace-superblocks on sort: {took.wall:.1f} s, {took.wall / native.wall:.0f} x native")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hodo", required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--source", action="append", help="dbi, qemu, bts, lbr; dbi and qemu by default")
    parser.add_argument("--no-plain", action="store_true", help="without plain qemu-x86_64")
    parser.add_argument("--drrun", help="DynamoRIO's drrun")
    parser.add_argument("--json", help="also write the ratios to this file")
    parser.add_argument("programs", nargs="*", help="sort, gzip, python, compile, node, java, true, ls, forks; all by default")
    options = parser.parse_args()
    options.source = options.source or ["dbi", "qemu"]
    with tempfile.TemporaryDirectory(prefix="hodo-bench-", dir="/var/tmp") as work:
        lines = commands(work)
        chosen = options.programs or list(lines)
        rows = {}
        for name in chosen:
            if shutil.which(lines[name][0]) is None:
                print(f"{name}: {lines[name][0]} is not installed")
                continue
            rows[name] = report(name, *measure(name, lines[name], options, work))
        if "sort" in chosen:
            lackey(lines["sort"])
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=2)


if __name__ == "__main__":
    main()
