#!/usr/bin/python3
"""How fast questions about one part of a long recording are answered: records a Python program with the engine, about
--megabytes, makes the index, and asks each kind of question with the index and without. Prints processor time (user and
system) and the peak of memory of each, the index's size, and what making it takes of `hodo stats` in turn.

    cmake --preset release && ninja -C build/release
    bench/ask.py --hodo build/release/src/cli/hodo
    bench/ask.py --hodo build/release/src/cli/hodo --megabytes 1000 --indexed   # some minutes
    bench/ask.py --hodo build/release/src/cli/hodo --megabytes 50 --perf

--indexed leaves out what the questions take without the index. All runs on one processor, so that the time is that of the work. With --wall times are those of a clock, with all
processors: for machines that have nothing else to do. --perf lets `perf script` list a millisecond in the middle, too.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = """
import json, random, sys
random.seed(1)
rows = [{str(i): [random.random() for _ in range(20)]} for i in range(400)]
def once():
    text = json.dumps(rows, indent=1)
    again = json.loads(text)
    again.sort(key=str)
for _ in range(int(sys.argv[1])):
    once()
"""
MEGABYTES_A_ROUND = 10


class Bench:
    def __init__(self, options, work):
        self.options = options
        self.data = os.path.join(work, "run.data")
        self.cache = os.path.join(work, "cache")
        os.mkdir(self.cache, 0o700)
        self.env = {**os.environ, "XDG_CACHE_HOME": self.cache}

    def record(self):
        rounds = max(1, self.options.megabytes // MEGABYTES_A_ROUND)
        how = ["-q", "--source", "dbi", "-o", self.data]
        program = ["/usr/bin/python3", "-S", "-E", "-c", PROGRAM, str(rounds)]
        subprocess.run([self.options.hodo, "record", *how, "--", *program],
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if not os.path.exists(self.data):
            sys.exit("ask: python3 could not be recorded; try: hodo record --source dbi -- /usr/bin/python3 -c 0")

    def run(self, command):
        """Seconds, and MB of memory at most."""
        began = time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 1, 3):
            sys.exit(f"ask: '{' '.join(command)}' ended with status {child.returncode}")
        taken = time.monotonic() - began if self.options.wall else usage.ru_utime + usage.ru_stime
        return taken, usage.ru_maxrss / 1000

    def median(self, command, before=lambda: None):
        runs = []
        for _ in range(self.options.runs):
            before()
            runs.append(self.run(command))
        times = [taken for taken, _ in runs]
        return statistics.median(times), min(times), max(times), max(memory for _, memory in runs)

    def json(self, *words):
        done = subprocess.run([self.options.hodo, *words, self.data, "--json"], capture_output=True, env=self.env,
                              check=False)
        return json.loads(done.stdout)

    def forget(self):
        shutil.rmtree(os.path.join(self.cache, "hodoscope"), ignore_errors=True)

    def index_size(self):
        folder = os.path.join(self.cache, "hodoscope", "recordings")
        return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))

    def building(self):
        hodo = self.options.hodo
        counts = self.median([hodo, "stats", self.data])
        making = self.median([hodo, "show", "end", self.data], self.forget)
        print(f"  stats            {spread(counts)}")
        print(f"  making an index  {spread(making)}, {making[0] / counts[0]:.1f} of stats; {self.index_size() / 1e6:.2f} MB")

    def questions(self):
        end = self.json("show", "end")
        first = self.json("show", "start")
        tid = end["tid"]
        number = int(end["moment"].split(":")[1].split("+")[0])
        calls = self.json("list", "PyObject_Str")["calls"]
        count = calls if isinstance(calls, int) else len(calls)
        address = self.json("show", f"call:PyObject_Str#{count // 2}")["stands_at"]["address"]
        at = (end["time"] + (first["time"] or end["time"])) // 2
        self.middle = at
        return {
            "a moment in the middle": ["show", f"{tid}:{number // 2}"],
            "the end": ["show", "end"],
            "a time": ["show", f"time:{at}"],
            "the N-th call": ["show", f"call:PyObject_Str#{count // 2}"],
            "the N-th execution": ["show", f"at:{address}#{count // 2}"],
            "the last execution": ["show", "end", "--previous", "PyObject_Str"],
            "all calls, many": ["list", "PyObject_Str"],
            "all calls, few": ["list", "PyDict_Copy"],
            "the last 200 branches": ["branches", "--last", "200"],
            "a call tree of a call": ["calls", "--call", f"PyObject_Str#{count // 2}"],
            "how it ended": ["crash"],
        }

    def asking(self):
        for name, words in self.questions().items():
            command = [self.options.hodo, words[0], *words[1:], self.data]
            known = self.median(command)
            print(f"  {name:24} {spread(known)}, {known[3]:4.0f} MB", end="", flush=True)
            if not self.options.indexed:
                plain = self.median([*command, "--no-index"])
                print(f"; without the index {spread(plain)}, {plain[0] / known[0]:.0f} times as long", end="")
            print(flush=True)

    def perf(self):
        begin, end = (f"{(self.middle + part) / 1e9:.9f}" for part in (0, 1_000_000))
        slices = ["branches", "--from", begin, "--to", end]
        ours = self.median([self.options.hodo, *slices, self.data])
        theirs = self.run(["perf", "script", "--itrace=b", "-F", "tid,time,ip,addr", "--time", f"{begin},{end}", "-i",
                           self.data])
        print(f"  a millisecond: {spread(ours)}; perf script {theirs[0]:.3f} s, {theirs[0] / ours[0]:.1f} times as long")


def spread(measured):
    middle, least, most, _ = measured
    return f"{middle:.3f} s ({least:.3f}-{most:.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--hodo", required=True)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--wall", action="store_true", help="time by a clock, on all processors")
    parser.add_argument("--indexed", action="store_true", help="ask with the index alone")
    parser.add_argument("--perf", action="store_true", help="perf script, too")
    options = parser.parse_args()
    if not options.wall:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(options, work)
        bench.record()
        print(f"{os.path.getsize(bench.data) / 1e6:.0f} MB", flush=True)
        bench.building()
        bench.asking()
        if options.perf:
            bench.perf()


if __name__ == "__main__":
    main()
