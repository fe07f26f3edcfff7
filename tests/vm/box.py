"""What the cases of recording inside a virtual machine share: a machine to boot, lists of branches, a main."""

import argparse
import csv
import json
import operator
import os
import shutil
import subprocess
import sys

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
        self.lister = listed.Lister(options.lists)
        for tool in ("qemu-system-x86_64", guest.BUSYBOX):
            if shutil.which(tool) is None:
                raise Skip(f"{tool} is not installed")
        self.cache = options.cache
        self.kernel = guest.kernel(self.cache)
        if self.kernel is None:
            raise Skip("there is no Debian kernel in /boot, and its package cannot be fetched")

    def program(self, name):
        return os.path.join(self.programs, name)

    def path(self, name):
        return os.path.join(self.work, name)

    def hooks_module(self):
        """The module of guest_module/, built for the guest's kernel."""
        built = guest.module(self.kernel, self.work)
        if built is None:
            raise Skip(f"the headers of {os.path.basename(self.kernel)} are not installed (linux-headers-amd64)")
        return built

    def run(self, *words, timeout=240, status=0):
        done = subprocess.run(words, cwd=self.work, capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, errors="replace")
        text = f"{' '.join(words)}\n{done.stdout}{done.stderr}"
        check(done.returncode == status, f"exit status {done.returncode} of {text}")
        return done

    def guest(self, *qemu_words, boot="", moved=False):
        """QEMU's words for the guest with the initramfs "initrd". `moved`: its kernel unpacks itself, and puts itself where chance
        has it (KASLR)."""
        kernel = self.kernel if moved else guest.unpacked(self.kernel, self.cache)
        return guest.command(kernel, "initrd", *qemu_words, boot=boot)

    def record_vm(self, script, watched, *qemu_words, options=(), boot="", files=(), moved=False, patience=()):
        """Boots the guest and records the processes `watched` into vm.data; `files`: see write_initramfs, `moved`: guest(),
        `patience`: a command that bounds it."""
        programs = [self.program(name) for name in ("known_path", "narrow", "family", "ping_pong")]
        guest.write_initramfs(self.path("initrd"), script, programs, files)
        words = [word for name in watched for word in ("--process", name)]
        done = self.run(*patience, self.hodo, "vm", "record", *words, *options, "-o", "vm.data", "--",
                        *self.guest(*qemu_words, boot=boot, moved=moved))
        check("Linux version" in done.stderr, f"no guest kernel: {done.stderr}")
        return done

    def branches(self, file):
        """{pid: its branches} as (from, to, kind, flags), over all processors that it ran on."""
        found = {}
        for pid, *branch in self.listed(file, ("pid", "from", "to", "kind", "flags"), "--sort", "time"):
            found.setdefault(int(pid), []).append(tuple(branch))
        return found

    def listed(self, file, columns, *options):
        """These columns of the list of branches, row by row."""
        rows = csv.reader(self.run(self.hodo, "branches", file, "--format", "csv", *options).stdout.splitlines())
        return map(operator.itemgetter(*map(next(rows).index, columns)), rows)

    def check_perf(self, file, but=()):
        """perf reads the same branches, of all threads that are not in `but`."""
        if shutil.which("perf") is None:
            raise Skip("perf is not installed")
        words = [self.hodo, "branches", file, "--format", "csv", "--sort", "time"]
        ours, status, said = self.lister.hodo(words, cwd=self.work)
        check(status == 0, f"{' '.join(words)}: {said}")
        theirs, status, said = self.lister.perf(file, cwd=self.work)
        check(status == 0, f"perf script: {said}")
        check(ours.keys() == theirs.keys(), f"threads {list(ours)}, perf has {list(theirs)}")
        for tid in ours.keys() - set(but):
            until_there = listed.until_last_packet(ours[tid], theirs[tid])
            branches, perfs = listed.as_perf_says(until_there), listed.as_perf_says(theirs[tid])
            if branches != perfs:
                check_same(branches, perfs, f"thread {tid} and perf")

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


def in_kernel(address):
    return address != "" and int(address, 16) >> 63 != 0


def in_user_mode(branches):
    """What a list with the kernel in it would be without."""
    kept = []
    for source, target, kind, flags in branches:
        inside, goes_inside = in_kernel(source), in_kernel(target)
        if inside and target and not goes_inside:
            kept.append(("", target, "begin", flags))
        elif goes_inside and source and not inside:
            kept.append((source, "", "end" if kind == "irq" else kind, flags))
        elif not inside and not goes_inside:
            kept.append((source, target, kind, flags))
    return kept


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


def main(cases):
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true", help="print the cases' names and exit")
    parser.add_argument("--hodo")
    parser.add_argument("--programs", help="folder of this folder's programs")
    parser.add_argument("--lists", help="folder of the programs that read lists of branches")
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
