"""What the cases are written in: recordings made in a folder of their own, and what hodo and perf
read from them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "differential"))
sys.path.append(os.path.join(HERE, ".."))

import emulated  # noqa: E402
import listed  # noqa: E402  (of the differential tests: branch lists as hodo and perf print them)

TIMEOUT = 240
COMPLETE, UNREADABLE, INCOMPLETE = 0, 2, 3  # exit statuses of the reading commands


class Failure(Exception):
    """Why the case failed, as text."""


class Skip(Exception):
    """What the case needs and this machine has not."""


def check(condition, what):
    if not condition:
        raise Failure(what)


def equal(found, expected, what):
    check(found == expected, f"{what}: {found!r}, expected {expected!r}")


def shell_status(returncode):
    return 128 - returncode if returncode < 0 else returncode


def wait_for(condition, what, seconds=60):
    """Polls until `condition` gives something true, and returns that."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise Failure(f"waited {seconds} s for {what}")


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Box:
    def __init__(self, options, work):
        self.hodo = options.hodo
        self.source = options.source  # what records where a case does not say
        self.programs = options.programs
        self.own_programs = options.own_programs
        self.lister = listed.Lister(options.lists)
        self.work = work
        self.data = os.path.join(work, "trace.data")
        self.started = []

    def program(self, name):
        return os.path.join(self.programs, name)

    def own(self, name):
        return os.path.join(self.own_programs, name)

    def path(self, name):
        return os.path.join(self.work, name)

    def tool(self, name):
        found = shutil.which(name)
        if found is None:
            raise Skip(f"{name} is not installed")
        return found

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def command(self, arguments, options=(), data=None):
        if "--source" not in options and self.source == "qemu" and (why := emulated.missing(self.hodo)):
            raise Skip(why)
        source = () if "--source" in options else ("--source", self.source)
        return [
            *(self.hodo, "record", *source, "-q", "-o", data or self.data),
            *options,
            "--",
            *arguments,
        ]

    def run(self, arguments, **keywords):
        """Without hodo."""
        keywords.setdefault("stdin", subprocess.DEVNULL)
        keywords.setdefault("cwd", self.work)
        return subprocess.run(arguments, capture_output=True, timeout=TIMEOUT, **keywords)

    def record(self, arguments, options=(), status=0, data=None, **keywords):
        """Records, and checks the exit status unless that is None."""
        # The engine leaves addresses as random as they are; QEMU's are always the same.
        engine = self.source == "dbi" or "bts" in options or "lbr" in options
        steady = ("setarch", "-R") if engine else ()
        done = self.run([*steady, *self.command(arguments, options, data)], **keywords)
        if status is not None and shell_status(done.returncode) != status:
            if why := emulated.was_missed(self.hodo, done.returncode, done.stderr.decode(errors="replace")):
                raise Skip(why)
            raise Failure(
                f"exit status {shell_status(done.returncode)}, expected {status}\n"
                f"{done.stdout[-2000:]!r}\n{done.stderr.decode(errors='replace')[-2000:]}"
            )
        return done

    def start(self, arguments, options=(), **keywords):
        """Records in the background."""
        keywords.setdefault("stdin", subprocess.DEVNULL)
        keywords.setdefault("stdout", subprocess.PIPE)
        keywords.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen(self.command(arguments, options), cwd=self.work, **keywords)
        self.started.append(process)
        return process

    def end_what_still_runs(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()

    # --- reading ---

    def read(self, command, status, data=None, options=()):
        done = self.run([self.hodo, command, data or self.data, *options])
        if status is not None and done.returncode != status:
            raise Failure(
                f"hodo {command}: exit status {done.returncode}, expected {status}\n"
                f"{done.stdout.decode(errors='replace')[-3000:]}\n{done.stderr.decode()}"
            )
        return done.stdout.decode(errors="replace")

    def stats(self, status=COMPLETE, data=None):
        return json.loads(self.read("stats", status, data, ["--json"]))

    def report(self, status=COMPLETE, data=None):
        return json.loads(self.read("report", status, data, ["--json"]))

    def losses(self, data=None):
        """What is missing, by cause; such a recording must not count as complete."""
        return {loss["cause"] for loss in self.stats(INCOMPLETE, data)["losses"]}

    def branches(self, status=COMPLETE, data=None):
        """{tid: BranchList}"""
        found, exit_status, said = self.lister.hodo([self.hodo, "branches", data or self.data, "--format", "csv"], cwd=self.work)
        check(status is None or exit_status == status, f"hodo branches: exit status {exit_status}, expected {status}\n{said}")
        return found

    def perf(self, data=None, itrace="b"):
        """The same as perf has it, which has to read the file without a complaint."""
        self.tool("perf")
        found, status, said = self.lister.perf(data or self.data, itrace, cwd=self.work)
        check(status == 0 and not said.strip(), f"perf script: exit status {status}\n{said}")
        return found

    def perf_reads(self, overflow=False):
        """perf follows the whole recording, and finds no error to print; packets that were lost (OVF) are none with
        `overflow`. A list of all branches, which nobody wants here, would take it three times as long."""
        equal(self.perf(itrace="e-o" if overflow else "e"), {}, "perf's errors")

    def agrees_with_perf(self, data=None, status=COMPLETE, kinds=True):
        """Without `kinds`, only in the addresses: perf calls a jump that leaves a filter's range
        an end of tracing."""
        ours = self.branches(status, data)
        reduced = {tid: listed.as_perf_says(lines) for tid, lines in ours.items()}
        theirs = self.perf(data)
        if not kinds:
            reduced, theirs = ({tid: listed.addresses(lines) for tid, lines in one.items()} for one in (reduced, theirs))
        check(reduced == theirs, "hodo's and perf's lists differ")
        return ours

    def opens(self, data=None):
        """A recording that broke off: hodo and perf read it, and hodo says that it is incomplete.
        perf says so in words of its own, so only its exit status counts."""
        stats = self.stats(INCOMPLETE, data)
        self.read("report", INCOMPLETE, data)
        perf = shutil.which("perf")
        if perf is not None:
            done = self.run([perf, "script", "--itrace=e", "-F", "ip", "-i", data or self.data])
            equal(done.returncode, 0, f"perf script ({done.stderr[-500:]!r})")
        return stats

    def names(self, status=COMPLETE, data=None):
        """The names of all threads, as the report has them."""
        return [task["comm"] for task in self.report(status, data)["tasks"]]


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
