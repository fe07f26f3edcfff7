#!/usr/bin/python3
"""Twelve processes at once inside a virtual machine, ten times over: what a trace of them says when each
process is told apart, and when it is not; and what recording them costs.

    cmake --preset release && ninja -C build/release
    bench/vm_multiprocess.py --hodo build/release/src/cli/hodo

The experiment is that of Li, Zhang, Yang and Zhu with one tracer for a whole machine: a program whose true
path is known runs in several processes, and the tracer has to find it. "Single process" takes the packets of
the virtual processor as those of one program, as a tracer does that knows nothing of address spaces: whatever
runs in user mode is recorded, and decoded with the program's file and nothing else. "Multi process" is what
hodo reads of a recording in which it was asked for the program's processes.

Counted are records with no address at all, addresses that are zero, addresses inside of instructions, and
basic blocks that the program executes and the list has not; over all processes. The true path is the
program's, recorded outside of any machine. The pictures are one kernel function's control flow, executed
blocks yellow.

Costs are processor time of QEMU and recorder together, in turn with plain QEMU, so that a machine whose
speed drifts slows all of them.
"""

import argparse
import collections
import csv
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..", "tests", "vm")
sys.path.append(TESTS)

import guest  # noqa: E402  (boots the machine)

PROCESSES, ROUNDS, WORK = 12, 10, "30"
PROGRAM, OTHER = "known_path", "other_path"


def run(*words, **more):
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", **more)


def build_program(work):
    path = os.path.join(work, PROGRAM)
    flags = ["-O1", "-fno-pie", "-fno-stack-protector", "-mno-sse", "-static", "-nostdlib", "-no-pie", "-Wl,--build-id"]
    subprocess.run(["gcc", *flags, os.path.join(TESTS, "programs", PROGRAM + ".c"), "-o", path], check=True)
    return path


def instructions(program):
    """Where the program's instructions start."""
    text = run("objdump", "-d", "--no-show-raw-insn", program, check=True).stdout
    return {int(line.split(":")[0], 16) for line in text.splitlines() if line.startswith(" ") and ":" in line}


def number(text):
    return int(text, 16) if text else 0


def branches(hodo, *words):
    """{pid: [(from, to, kind)]}; 0 for an address that is not there."""
    done = run(hodo, "branches", *words, "--format", "csv", "--sort", "time")
    if done.returncode not in (0, 3):  # 3: something was lost
        sys.exit(f"vm_multiprocess: exit status {done.returncode}: {done.stderr}")
    found = collections.defaultdict(list)
    for row in csv.DictReader(done.stdout.splitlines()):
        found[row["pid"]].append((number(row["from"]), number(row["to"]), row["kind"]))
    return found


class Judge:
    """Knows what is true of the program."""

    def __init__(self, hodo, program, work):
        self.starts = instructions(program)
        host = os.path.join(work, "host.data")
        run("setarch", "-R", hodo, "record", "-q", "-o", host, "--", program, WORK)
        ((_, path),) = branches(hodo, host).items()
        self.path = [edge for edge in path if self.is_branch(edge)]
        self.blocks = {to for _, to, _ in self.path if to}

    @staticmethod
    def is_branch(edge):
        return edge[2] not in ("begin", "end", "lost")

    def count(self, lists, processes):
        """A column of the table."""
        low, high = min(self.starts), max(self.starts)
        out = dict.fromkeys(("records with no address", "zero addresses", "addresses inside instructions"), 0)
        whole = 0
        missing = processes * len(self.blocks)
        for edges in lists:
            out["records with no address"] += sum(not source and not to for source, to, _ in edges)
            out["zero addresses"] += sum(
                (not source or not to) and kind not in ("begin", "end", "syscall") for source, to, kind in edges
            )
            out["addresses inside instructions"] += sum(
                low <= address <= high and address not in self.starts for edge in edges for address in edge[:2]
            )
            missing -= len(self.blocks & {to for _, to, kind in edges if kind != "begin"})
            whole += [edge for edge in edges if self.is_branch(edge)] == self.path
        out["blocks missing"] = max(missing, 0)
        out["processes complete"] = whole
        return out


def boot(kernel, initrd):
    return guest.command(kernel, initrd)


def processor_time(words, work):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run(*words, cwd=work)
    if done.returncode != 0:
        sys.exit(f"vm_multiprocess: exit status {done.returncode}: {' '.join(words)}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(hodo, kernel, program, work):
    script = f"for r in {' '.join('r' * ROUNDS)}; do\n" + f"{PROGRAM} {WORK} &\n" * PROCESSES + "wait\ndone"
    guest.write_initramfs(os.path.join(work, "initrd"), script, [program])
    data, everyone = (os.path.join(work, name) for name in ("vm.data", "everyone.data"))
    for whom, file in ((PROGRAM, data), ("all", everyone)):
        words = [hodo, "vm", "record", "-q", "--process", whom, "-o", file, "--", *boot(kernel, "initrd")]
        processor_time(words, work)
    judge = Judge(hodo, program, work)
    count = PROCESSES * ROUNDS
    packets = os.path.join(work, "packets.pt")
    write_packets(everyone, packets)
    single = branches(hodo, "--raw", "pt", packets, "--image", f"elf:{program}")
    print_table(
        {
            "single process": judge.count(single.values(), count),
            "multi process": judge.count(branches(hodo, data).values(), count),
        },
        count,
    )


def write_packets(data, path):
    """The AUX bytes of a recording, without the file around them: what `perf script -D` calls AUXTRACE."""
    with open(data, "rb") as file:
        content = file.read()
    offset, size = (int.from_bytes(content[at : at + 8], "little") for at in (40, 48))
    end = offset + size
    with open(path, "wb") as out:
        while offset + 8 <= end:
            kind = int.from_bytes(content[offset : offset + 4], "little")
            length = int.from_bytes(content[offset + 6 : offset + 8], "little")
            after = offset + length
            if kind == 71:  # PERF_RECORD_AUXTRACE
                trace = int.from_bytes(content[offset + 8 : offset + 16], "little")
                out.write(content[after : after + trace])
                after += trace
            offset = after


def print_table(columns, count):
    print(f"{count} processes, {PROCESSES} at a time\n")
    print("| | " + " | ".join(columns) + " |\n| --- |" + " --- |" * len(columns))
    for row in next(iter(columns.values())):
        print(f"| {row} | " + " | ".join(str(column[row]) for column in columns.values()) + " |")


def picture(hodo, kernel, program, work, function, mode, options):
    data = os.path.join(work, f"{mode}.data")
    other = os.path.join(work, OTHER)  # the same under a name of its own
    shutil.copy(program, other)
    script = f"{PROGRAM} {WORK} &\n{OTHER} {WORK} &\nwait"
    guest.write_initramfs(os.path.join(work, "initrd"), script, [program, other])
    processor_time([hodo, "vm", "record", "-q", "--kernel", "--user", *options, "-o", data, "--",
                    *boot(kernel, "initrd")], work)
    out = f"{function}-{mode}.svg"
    done = run(hodo, "export", data, "--to", "cfg-svg", "--function", function, "--module", "[kernel]", "-o", out)
    print(f"{out}: " + ("written" if done.returncode == 0 else done.stderr.strip()))


def measure(hodo, kernel, program, work, runs):
    script = f"{PROGRAM} 2000 &\n" * PROCESSES + "wait"
    guest.write_initramfs(os.path.join(work, "initrd"), script, [program])
    qemu = boot(kernel, "initrd")
    record = [hodo, "vm", "record", "-q", "-o", os.path.join(work, "cost.data")]
    ways = {
        "plain QEMU": qemu,
        "nobody watched": [*record, "--process", "nobody-at-all", "--", *qemu],
        "12 processes recorded": [*record, "--process", PROGRAM, "--", *qemu],
        "12 processes recorded with the kernel": [*record, "--process", PROGRAM, "--user", "--kernel", "--", *qemu],
        "nobody watched, with the kernel": [*record, "--process", "nobody-at-all", "--user", "--kernel", "--", *qemu],
    }
    times = {way: [] for way in ways}
    for _ in range(runs):
        for way, words in ways.items():
            times[way].append(processor_time(words, work))
    print("\n| | processor time, s | of plain QEMU |\n| --- | --- | --- |")
    for way, seconds in times.items():
        ratios = [mine / plain for mine, plain in zip(seconds, times["plain QEMU"])]
        print(f"| {way} | {statistics.median(seconds):.1f} ({min(seconds):.1f} to {max(seconds):.1f}) | "
              f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hodo", required=True)
    parser.add_argument("--runs", type=int, default=5, help="of each way, for the costs; 0: do not measure")
    parser.add_argument("--cache", default=os.path.expanduser("~/.cache/hodoscope-guest"),
                        help="where a kernel that was fetched is kept")
    parser.add_argument("--function", default="ksys_write", help="of the kernel, to draw")
    options = parser.parse_args()
    hodo = os.path.abspath(options.hodo)
    kernel = guest.kernel(options.cache)
    if kernel is None:
        sys.exit("vm_multiprocess: there is no Debian kernel in /boot, and its package cannot be fetched")
    with tempfile.TemporaryDirectory() as work:
        program = build_program(work)
        compare(hodo, kernel, program, work)
        picture(hodo, kernel, program, work, options.function, "multi", ["--process", PROGRAM, "--process", OTHER])
        picture(hodo, kernel, program, work, options.function, "single", ["--process", OTHER])
        if options.runs:
            measure(hodo, kernel, program, work, options.runs)


if __name__ == "__main__":
    main()
