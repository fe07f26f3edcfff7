"""What the cases of run.py share: a tool that records and judges, and how a case says what is wrong."""

import json
import os
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.dirname(HERE))

import emulated  # noqa: E402  # pylint: disable=wrong-import-position

FIELDS = {"hijacks.txt": 4, "pointers.txt": 3, "clean.txt": 3, "corpus.txt": 5}
SKIPPED = 77
TIMEOUT = 280  # less than CTest's
CLEAN, FOUND, USAGE, INCOMPLETE = 0, 1, 2, 3
# Windows of seven branches overlap, so that none is missed but those at the end.
WINDOWS = ["--source", "lbr", "--period", "7"]


class Failure(Exception):
    """Why the case failed, as text."""


class Skip(Exception):
    """What the case needs and this machine has not."""


def lines(name):
    """The fields of each line of a list beside this file."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                yield [field.strip() for field in line.split("|", FIELDS[name] - 1)]


def equal(found, expected, what):
    if found != expected:
        raise Failure(f"{what}: {found!r}, expected {expected!r}")


def without_sums(data):
    """A recording as perf writes it: nothing in it tells what has changed since."""
    out = bytearray(data)
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    while at < end:
        kind, _, length, payload = struct.unpack_from("<IHHQ", data, at)
        if kind == 71:
            struct.pack_into("<I", out, at + 44, 0)  # the size of a block
            at += payload
        at += length
    # The sum of the records: the last but one of the feature sections, made empty.
    sections = sum(bin(byte).count("1") for byte in data[72:104])
    struct.pack_into("<Q", out, end + 16 * (sections - 2) + 8, 0)
    return bytes(out)


class Tool:
    def __init__(self, hodo, programs, ways, work, timeout=TIMEOUT):
        self.timeout = timeout
        self.hodo = os.path.abspath(hodo)
        self.ways = os.path.abspath(ways)
        self.programs = os.path.abspath(programs)
        self.work = os.path.abspath(work)
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)

    def record(self, command, status=0, env=None, options=()):
        data = os.path.join(self.work, "case.data")
        if shutil.which(command[0]) is None:
            raise Skip(f"{command[0]} is not installed")
        if why := emulated.why_not_32(self.hodo, shutil.which(command[0]), options):
            raise Skip(why)
        done = subprocess.run(
            [self.hodo, "record", *options, "-o", data, "--", *command],
            cwd=self.work, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=self.timeout, check=False,
        )  # fmt: skip
        if done.returncode != status:
            if why := emulated.was_missed(self.hodo, done.returncode, done.stderr):
                raise Skip(why)
            raise Failure(f"record: status {done.returncode}\n{done.stdout}{done.stderr}")
        return data, done.stdout

    def check(self, data):
        done = subprocess.run(
            [self.hodo, "check", "--json", data],
            capture_output=True, text=True, timeout=self.timeout, check=False,
        )  # fmt: skip
        if not done.stdout:
            raise Failure(f"check: status {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout), done.returncode

    def both_ways(self, data):
        """Paths that come again are judged as a whole; branch by branch comes to the same."""
        done = subprocess.run(
            [self.ways, data], capture_output=True, text=True, timeout=self.timeout, check=False
        )
        equal((done.stdout + done.stderr, done.returncode), ("", 0), "by paths and branch by branch")

    def text(self, data):
        done = subprocess.run(
            [self.hodo, "check", "--explained", data],
            capture_output=True, text=True, timeout=self.timeout, check=False,
        )  # fmt: skip
        return done.stdout


def rules_of(result):
    return {rule for finding in result["findings"] for rule in rules_of_attack(finding)}


def rules_of_attack(finding):
    """The finding's own rule, then those of its further steps."""
    return [finding["rule"]] + [step["rule"] for step in finding["steps"]]


def symbols_of(finding):
    """Of both ends, the last part of the name."""
    ends = [finding[end] for end in ("from", "to") if finding[end]]
    names = [end.get("symbol", "").replace("(anonymous namespace)::", "").split("(")[0] for end in ends]
    return {name.split("::")[-1] for name in names}
