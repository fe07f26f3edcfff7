#!/usr/bin/python3
"""Runs one case of recording processes inside a virtual machine.

Exit status 0: as it must be; 1: not; 77: what the case needs is not here.
"""

import argparse
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import guest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "differential"))

import listed  # noqa: E402  (branch lists as hodo and perf print them)

SKIPPED = 77
ROUNDS = "30"


class Failure(Exception):
    """Why the case failed, as text."""


class Skip(Exception):
    """What the case needs and this machine has not."""


def check(condition, what):
    if not condition:
        raise Failure(what)


class Box:
    """A folder for one case, and hodo in it."""

    def __init__(self, options, work):
        self.hodo, self.programs, self.work = options.hodo, options.programs, work
        for tool in ("qemu-system-x86_64", guest.BUSYBOX):
            if shutil.which(tool) is None:
                raise Skip(f"{tool} is not installed")
        self.kernel = guest.kernel(options.cache)
        if self.kernel is None:
            raise Skip("there is no Debian kernel in /boot, and its package cannot be fetched")

    def program(self, name):
        return os.path.join(self.programs, name)

    def path(self, name):
        return os.path.join(self.work, name)

    def run(self, *words, timeout=240, status=0):
        done = subprocess.run(words, cwd=self.work, capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, errors="replace")
        text = f"{' '.join(words)}\n{done.stdout}{done.stderr}"
        check(done.returncode == status, f"exit status {done.returncode} of {text}")
        return done

    def record_vm(self, script, watched, *qemu_words):
        """Boots the guest and records the processes `watched` into vm.data."""
        guest.write_initramfs(self.path("initrd"), script, [self.program("known_path"), self.program("narrow")])
        words = [word for name in watched for word in ("--process", name)]
        done = self.run(self.hodo, "vm", "record", *words, "-o", "vm.data", "--",
                        *guest.command(self.kernel, "initrd", *qemu_words))
        check("Linux version" in done.stderr, f"no guest kernel: {done.stderr}")
        return done

    def branches(self, file):
        """{pid: its branches} as (from, to, kind, flags), over all processors that it ran on."""
        text = self.run(self.hodo, "branches", file, "--format", "csv", "--sort", "time").stdout
        found = {}
        for row in csv.DictReader(text.splitlines()):
            found.setdefault(int(row["pid"]), []).append((row["from"], row["to"], row["kind"], row["flags"]))
        return found

    def check_perf(self, file):
        """perf reads the same branches."""
        if shutil.which("perf") is None:
            raise Skip("perf is not installed")
        ours = listed.hodo(self.run(self.hodo, "branches", file, "--format", "csv").stdout.splitlines())
        theirs = self.run("perf", "script", "-i", file, "--itrace=b", "-F", "tid,ip,addr,flags").stdout
        theirs = listed.perf(theirs.splitlines())
        check(ours.keys() == theirs.keys(), f"threads {list(ours)}, perf has {list(theirs)}")
        for tid, branches in ours.items():
            check_same(listed.as_perf_says(branches), listed.as_perf_says(theirs[tid]), f"thread {tid} and perf")

    def names(self, file):
        """{pid: the process's name}."""
        report = json.loads(self.run(self.hodo, "report", file, "--json").stdout)
        check(report["complete"], f"something was lost: {report['losses']}")
        return {process["pid"]: process["comm"] for process in report["tasks"] if not process["thread"]}

    def host_path(self):
        """The branches of known_path outside of any machine."""
        self.run("setarch", "-R", self.hodo, "record", "-q", "-o", "host.data", "--",
                 self.program("known_path"), ROUNDS, status=self.status())
        (branches,) = self.branches("host.data").values()
        return without_interruptions(branches)

    def status(self):
        return subprocess.run([self.program("known_path"), ROUNDS], stdout=subprocess.DEVNULL).returncode


def without_interruptions(branches):
    """Leaves out where tracing stopped for an interrupt or exception and went on at the same place:
    a machine has them at other times than another, a program outside has none."""
    kept = []
    interrupted = None
    for source, target, kind, flags in branches:
        if interrupted is not None:
            check(kind == "begin" and target == interrupted,
                  f"interrupted at {interrupted}, and {kind} {source} -> {target} followed")
            interrupted = None
        elif kind == "end":
            interrupted = source
        else:
            kept.append((source, target, kind))
    return kept


def check_same(found, expected, who):
    for i, (ours, theirs) in enumerate(zip(found, expected)):
        check(ours == theirs, f"{who}: branch {i} is {ours}, and not {theirs}")
    check(len(found) == len(expected), f"{who}: {len(found)} branches, and not {len(expected)}")


def one_process(box):
    """A program's path in the guest is the one that it takes outside; what cannot be recorded is
    said."""
    done = box.record_vm(f"known_path {ROUNDS}; echo status $?; narrow; ls /proc >/dev/null",
                         ["known_path", "narrow"])
    check("narrow ran without being recorded: it is a 32-bit program" in done.stderr,
          f"nothing is said of the 32-bit program: {done.stderr}")
    check(f"status {box.status()}" in done.stdout, f"the program did not end as it must: {done.stdout}")
    names = box.names("vm.data")
    check(list(names.values())[:1] == ["known_path"], f"recorded were {names}")
    ((pid, branches),) = box.branches("vm.data").items()
    check(any(kind == "end" for _, _, kind, _ in branches), "there was no page fault")
    check_same(without_interruptions(branches), box.host_path(), f"process {pid}, outside")
    box.check_perf("vm.data")


def several_processes(box):
    """Twelve processes on two processors at once: each is complete, and nobody else is recorded."""
    count = 12
    start = "".join(f"known_path {ROUNDS} & " for _ in range(count))
    box.record_vm(f"{start}\nwait", ["known_path"], "-smp", "2")
    names = box.names("vm.data")
    check(list(names.values()) == ["known_path"] * count, f"recorded were {names}")
    expected = box.host_path()
    for pid, branches in box.branches("vm.data").items():
        check_same(without_interruptions(branches), expected, f"process {pid}, outside")


def killed_machine(box):
    """When the machine is killed, what was recorded until then is there."""
    guest.write_initramfs(box.path("initrd"), "echo begins; known_path 100000000", [box.program("known_path")])
    command = guest.command(box.kernel, "initrd")
    recorder = subprocess.Popen([box.hodo, "vm", "record", "-o", "vm.data", "--process", "known_path", "--", *command],
                                cwd=box.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True, errors="replace")
    for line in recorder.stdout:
        if "begins" in line:
            break
    while not os.path.exists(box.path("vm.data")) or os.path.getsize(box.path("vm.data")) < 100_000:
        check(recorder.poll() is None, "the recording ended by itself")
        time.sleep(0.05)
    machine = subprocess.run(["pgrep", "-P", str(recorder.pid)], capture_output=True, text=True).stdout
    os.kill(int(machine), signal.SIGKILL)
    recorder.stdout.close()
    check(recorder.wait(timeout=60) == 128 + signal.SIGKILL, f"exit status {recorder.returncode}")
    names = box.names("vm.data")
    check(list(names.values()) == ["known_path"], f"recorded were {names}")


def usage(box):
    """What cannot be recorded is refused before anything runs, with the reason."""
    for words, reason in (
        ([], "no machine given"),
        (["--", "qemu-system-x86_64"], "nobody to record"),
        (["--pid", "0", "--", "qemu-system-x86_64"], "names no process"),
        (["--process", "x", "--", "ls"], "must be qemu-system-x86_64"),
        (["--process", "x", "--", "qemu-system-x86_64", "-accel", "kvm"], "with KVM"),
        (["--process", "x", "--", "qemu-system-x86_64", "-M", "q35,accel=kvm"], "with KVM"),
        (["--process", "x", "--", "qemu-system-x86_64", "-enable-kvm"], "with KVM"),
    ):
        done = box.run(box.hodo, "vm", "record", *words, status=2)
        check(reason in done.stderr, f"{words}: {done.stderr}")
    check(not os.listdir(box.work), f"files are left: {os.listdir(box.work)}")


CASES = {case.__name__: case for case in (one_process, several_processes, killed_machine, usage)}


def main(cases):
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true", help="print the cases' names and exit")
    parser.add_argument("--hodo")
    parser.add_argument("--programs", help="folder of this folder's programs")
    parser.add_argument("--cache", help="where a kernel that was fetched is kept")
    parser.add_argument("--work", help="folder for this case; kept when it fails")
    parser.add_argument("case", nargs="?", choices=cases)
    options = parser.parse_args()
    if options.list:
        print("\n".join(cases))
        return 0
    work = os.path.abspath(options.work)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    try:
        cases[options.case](Box(options, work))
    except Skip as skip:
        print(f"skipped: {skip}")
        return SKIPPED
    except (Failure, subprocess.TimeoutExpired) as failure:
        print(f"{options.case}: {failure}\nkept: {work}")
        return 1
    shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main(CASES))
