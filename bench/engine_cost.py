#!/usr/bin/python3
"""What running on the engine costs: processor time of CPU-bound programs natively, on the engine with its packets thrown
away, and, where they are given, under DynamoRIO without a client and plain QEMU, in turn. Medians of the ratios to native
runs of the same round, with the spread. Every run's output has to equal the native one's.

    cmake --preset release && ninja -C build/release engine/all
    bench/engine_cost.py --build build/release
    bench/engine_cost.py --build build/release --drrun .../bin64/drrun --qemu --runs 9 sort python
"""

import argparse
import os
import statistics
import sys
import tempfile

from record_cost import commands, timed


def measure(name, ways, runs):
    ratios = {way: [] for way in ways}
    expected = None
    for run in range(runs + 1):  # the first warms the caches and does not count
        costs = {}
        for way, line in ways.items():
            costs[way], output = timed(line)
            expected = expected or output
            if output != expected:
                sys.exit(f"engine_cost: {name} prints something else under {way}")
        if run > 0:
            for way, cost in costs.items():
                ratios[way].append(cost.processor / costs["native"].processor)
    row = [f"{way} {statistics.median(r):.2f} ({min(r):.2f}-{max(r):.2f})" for way, r in ratios.items() if way != "native"]
    print(f"{name}: " + ", ".join(row), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", required=True, help="a build folder with engine/hodo-engine and engine/engine-run")
    parser.add_argument("--drrun", help="DynamoRIO's drrun")
    parser.add_argument("--qemu", action="store_true", help="also plain qemu-x86_64")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("programs", nargs="*", help="sort, gzip, python, compile; all by default")
    options = parser.parse_args()
    engine = [os.path.join(options.build, "engine", file) for file in ("engine-run", "hodo-engine")]
    with tempfile.TemporaryDirectory(prefix="hodo-bench-", dir="/var/tmp") as work:
        lines = commands(work)
        for name in options.programs or lines:
            ways = {"native": lines[name], "engine": [*engine, "--", *lines[name]]}
            if options.drrun:
                ways["dynamorio"] = [options.drrun, "--", *lines[name]]
            if options.qemu:
                ways["qemu"] = ["qemu-x86_64", *lines[name]]
            measure(name, ways, options.runs)


if __name__ == "__main__":
    main()
