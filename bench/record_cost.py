#!/usr/bin/python3
"""What recording costs: whole-process wall time of CPU-bound programs natively, under plain qemu-user
and under `hodo record`, in turn, so that a machine whose speed drifts slows all of them. Prints medians,
the spread, and ratios; absolute times mean little on a shared machine.

    cmake --preset release && ninja -C build/release
    bench/record_cost.py --hodo build/release/src/cli/hodo

Every run's output has to equal the native one's, and every recording has to be complete. For comparison,
the sort also runs once under Valgrind's lackey, which traces superblocks too (skipped without valgrind).
"""

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

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
    compiler = [cc1plus, "-quiet", "-O1", "-D_GNU_SOURCE", "-imultiarch", "x86_64-linux-gnu"]
    return {
        "sort": [sort],
        "gzip": ["/usr/bin/gzip", "-9", "-c", data],
        "python": ["/usr/bin/python3", "-S", "-E", os.path.join(PROGRAMS, "interpreted.py")],
        "compile": [*compiler, os.path.join(PROGRAMS, "templates.cc"), "-o", "-"],
    }


def timed(command):
    """(seconds, hash of the output)"""
    start = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"record_cost: exit status {done.returncode}: {' '.join(command)}")
    return seconds, hashlib.sha256(done.stdout).hexdigest()


def check_recording(hodo, path):
    """Complete, and decodable: `hodo packets` would take as long as everything else, the header does not."""
    with open(path, "rb") as file:
        file.seek(-4096, os.SEEK_END)
        if b'"overflows":0' not in file.read():
            sys.exit(f"record_cost: {path} is not complete")


def measure(name, command, hodo, work, runs):
    recording = os.path.join(work, "trace.data")
    ways = {
        "native": command,
        "qemu": ["qemu-x86_64", *command],
        "hodo": [hodo, "record", "-q", "--source", "qemu", "-o", recording, "--", *command],
    }
    seconds = {way: [] for way in ways}
    expected = None
    for run in range(runs + 1):  # the first warms the caches and does not count
        for way, line in ways.items():
            took, output = timed(line)
            expected = expected or output
            if output != expected:
                sys.exit(f"record_cost: {name} prints something else under {way}")
            if run > 0:
                seconds[way].append(took)
    check_recording(hodo, recording)
    return seconds, os.path.getsize(recording)


def spread(values):
    return f"{statistics.median(values):7.2f} s ({min(values):.2f}-{max(values):.2f})"


def report(name, seconds, size):
    ratio = lambda a, b: statistics.median(x / y for x, y in zip(seconds[a], seconds[b]))
    print(f"{name}: {size / 1e6:.0f} MB recorded", flush=True)
    for way in seconds:
        print(f"  {way:8}{spread(seconds[way])}")
    row = {
        "hodo_to_qemu": ratio("hodo", "qemu"),
        "hodo_to_native": ratio("hodo", "native"),
        "qemu_to_native": ratio("qemu", "native"),
    }
    print(
        f"  hodo is {row['hodo_to_qemu']:.2f} x qemu, {row['hodo_to_native']:.1f} x native"
        f" (qemu {row['qemu_to_native']:.1f} x native)",
        flush=True,
    )
    return row


def lackey(command):
    if shutil.which("valgrind") is None:
        return print("lackey: valgrind is not installed")
    native, _ = timed(command)
    traced = ["valgrind", "--tool=lackey", "--trace-superblocks=yes", "--log-file=/dev/null"]
    took, _ = timed([*traced, *command])
    print(f"lackey --trace-superblocks on sort: {took:.1f} s, {took / native:.0f} x native")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--hodo", required=True)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--json", help="also write the ratios to this file")
    options.add_argument("programs", nargs="*", help="sort, gzip, python, compile; all by default")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="hodo-bench-", dir="/var/tmp") as work:
        lines = commands(work)
        chosen = arguments.programs or list(lines)
        rows = {}
        for name in chosen:
            rows[name] = report(name, *measure(name, lines[name], arguments.hodo, work, arguments.runs))
        if "sort" in chosen:
            lackey(lines["sort"])
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=2)


if __name__ == "__main__":
    main()
