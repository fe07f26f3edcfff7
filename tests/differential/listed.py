"""Branch lists of `hodo branches` and of perf, and what of one the others can say."""

import collections
import os
import re
import subprocess
import tempfile

from branch_list import KINDS, NO_KIND, NUMBERS, BranchList, read

LISTED = (0, 3)  # exit statuses of `hodo branches` where it has printed a list: complete, incomplete
PICKED_UP = "picked-up"  # begin with resync: where the first branch of a stack came from


class Lister:
    """Reads recordings by the programs of this folder, which were built to `folder`."""

    def __init__(self, folder):
        self.reader = os.path.join(folder, "branch_lists")
        self.filter = os.path.join(folder, "libperf_branches.so")

    def hodo(self, command, **keywords):
        """({tid: BranchList}, exit status, what it said on stderr) of `hodo branches ... --format csv`. ValueError if it printed
        something else than a list."""
        with tempfile.TemporaryFile() as errors:
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL, **keywords) as hodo:
                done = subprocess.run([self.reader], stdin=hodo.stdout, capture_output=True)
            errors.seek(0)
            said = errors.read().decode(errors="replace")
        if done.returncode != 0 and hodo.returncode in LISTED:
            raise ValueError(f"{' '.join(command)}: {done.stderr.decode(errors='replace')}{said}")
        return read(done.stdout), hodo.returncode, said

    def perf(self, data, itrace="b", **keywords):
        """({tid: BranchList}, exit status, what it said): each error in the trace is a line."""
        with tempfile.NamedTemporaryFile() as found:
            command = ["perf", "script", f"--itrace={itrace}", "-F", "tid,ip", "--dlfilter", self.filter, "--dlarg", found.name, "-i", data]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **keywords)
            return read(found.read()), done.returncode, done.stdout.decode(errors="replace")


AS_PERF = bytes(NUMBERS[{"icall": "call", "ijmp": "jmp"}.get(kind, kind)] for kind in KINDS)


def as_perf_says(listed):
    """A list reduced to the kinds that perf tells apart."""
    return listed.with_kinds(listed.kinds().translate(AS_PERF.ljust(256, b"\xff")))


DIRECT = {NUMBERS["jmp"], NUMBERS["call"]}


def until_last_packet(ours, theirs):
    """Our list without direct jumps and calls at its end that perf's lacks: where a trace breaks off, perf stops at the last
    packet, and hodo where the code needs the next one."""
    behind = range(len(theirs), len(ours))
    direct = all(ours.at(at)[0] in DIRECT for at in behind)
    return ours.without(list(behind)) if direct else ours


def without_pauses(listed):
    """(the list without pauses, their number): a pause is tracing that stops before an instruction
    and goes on with the same one, as around a change of mappings. The program took no branch there,
    so the watcher, who sees only the program, has no line for it."""
    left_out = set()
    for begin in listed.of_kind("begin"):
        before = begin - 1
        while before in left_out:
            before -= 1
        if before >= 0 and listed.at(before) == (NUMBERS["end"], listed.at(begin)[2], 0):
            left_out |= {before, begin}
    return listed.without(sorted(left_out)), len(left_out) // 2


def as_bts_says(witness, ours):
    """The witness's list with what a BTS record can tell: one of a signal that came before a system
    call's instruction has the same two addresses as one of the call."""
    calls = {}
    for name in ("syscall", "int"):
        for at in ours.of_kind(name):
            kind, source, target = ours.at(at)
            if target == 0:
                calls[source] = kind
    kinds = bytearray(witness.kinds())
    for at in witness.of_kind("end"):
        kind, source, target = witness.at(at)
        if target == 0:
            kinds[at] = calls.get(source, kind)
    return witness.with_kinds(kinds)


STACK_DEPTH = 32
CALL_BYTES = 2  # of a system call: SYSCALL, INT 80H


def windows(witness, period):
    """The branch stacks that sampling a list every `period` branch instructions gives, oldest branch
    first. One that leaves the program is counted, but has no entry. One that comes back has none,
    either, if it goes on behind a system call."""
    out = []
    stack = collections.deque(maxlen=STACK_DEPTH)
    count = 0
    behind_call = None
    for shape in witness:
        kind, source, target = shape.split()
        if target != "0" and target != behind_call:
            stack.append(shape)
        behind_call = f"{int(source, 16) + CALL_BYTES:x}" if kind in ("syscall", "int") else None
        if kind in ("begin", "end"):
            continue
        count += 1
        if count % period == 0:
            out.extend(stack)
    return BranchList.of(out)


def of_stacks(listed):
    """A list of branch stacks without the marks between them."""
    return listed.without(listed.of_kind(PICKED_UP))


def addresses(listed):
    """Only from and to, which is what a branch stack has."""
    return listed.with_kinds(bytes([NO_KIND]) * len(listed))


STACK_ENTRY = re.compile(r"0x([0-9a-f]+)/0x([0-9a-f]+)/")


def perf_stacks(lines):
    """{tid: [FROM TO]} from `perf script -F tid,ip,brstack`, oldest branch first."""
    threads = collections.defaultdict(list)
    for text in lines:
        tid = int(text.split(None, 1)[0])
        entries = [f"{source} {target}" for source, target in STACK_ENTRY.findall(text)]
        threads[tid].extend(reversed(entries))
    return dict(threads)
