"""Branch lists as `hodo branches` and `perf script` print them, in the lines of watched.py."""

import collections
import re


PICKED_UP = "picked-up"  # begin with resync: where the first branch of a stack came from


def hodo(lines):
    """{tid: [line]} from `hodo branches --format csv`."""
    lines = iter(lines)
    header = next(lines, "").rstrip("\n")
    if header != "time,cpu,pid,tid,cr3,from,to,kind,flags":
        raise ValueError(f"not the columns of hodo branches: {header!r}")
    threads = {}
    shapes = {}  # the end of a CSV line -> line: most branches repeat
    for text in lines:
        _, _, _, tid, _, rest = text.split(",", 5)
        shape = shapes.get(rest)
        if shape is None:
            source, target, kind, flags = rest.rstrip("\n").split(",", 3)
            if kind == "begin" and "resync" in flags:
                kind = PICKED_UP
            shape = f"{kind} {int(source or '0', 16):x} {int(target or '0', 16):x}"
            shapes[rest] = shape
        try:
            threads[tid].append(shape)
        except KeyError:
            threads[tid] = [shape]
    return {int(tid): listed for tid, listed in threads.items()}


# perf script -F tid,ip,addr,flags: "  TID  FLAGS  IP => ADDR", or an error line.
PERF_LINE = re.compile(r"\s*(\d+)\s+(.*?)\s*([0-9a-f]+) =>\s+([0-9a-f]+)\s*$")

# What perf's flags say of a branch, which is less than hodo's kinds do.
PERF_KINDS = {
    "jcc": "cond",
    "jmp": "jmp",
    "call": "call",
    "return": "ret",
    "syscall": "syscall",
    "sysret": "sysret",
    "int": "int",
    "iret": "iret",
    "tr strt": "begin",
    "tr end": "end",
    "async": "end",
    "hw int": "end",
}


def perf_kind(flags):
    flags = " ".join(flags.split())
    if flags == "hw int":
        return "irq"  # its handler is traced
    if flags.startswith("tr end "):
        flags = flags.removeprefix("tr end ")
    return PERF_KINDS.get(flags, flags)


def perf(lines):
    """{tid: [line]} from `perf script --itrace=b -F tid,ip,addr,flags`."""
    threads = {}
    known = {}  # a line -> its thread's list and its shape: most branches repeat
    for text in lines:
        entry = known.get(text)
        if entry is None:
            match = PERF_LINE.match(text)
            if match is None:
                raise ValueError(f"not a branch as perf prints it: {text!r}")
            tid, flags, source, target = match.groups()
            shape = f"{perf_kind(flags)} {int(source, 16):x} {int(target, 16):x}"
            entry = known[text] = (threads.setdefault(int(tid), []), shape)
        entry[0].append(entry[1])
    return threads


AS_PERF = {"icall": "call", "ijmp": "jmp"}


def as_perf_says(listed):
    """A list reduced to the kinds that perf tells apart."""
    shapes = {}
    out = []
    for shape in listed:
        reduced = shapes.get(shape)
        if reduced is None:
            kind, _, rest = shape.partition(" ")
            reduced = shapes[shape] = f"{AS_PERF.get(kind, kind)} {rest}"
        out.append(reduced)
    return out


def without_pauses(listed):
    """(the list without pauses, their number): a pause is tracing that stops before an instruction
    and goes on with the same one, as around a change of mappings. The program took no branch there,
    so the watcher, who sees only the program, has no line for it."""
    out = []
    pauses = 0
    for shape in listed:
        if shape.startswith("begin ") and out and out[-1] == f"end {shape.split()[2]} 0":
            out.pop()
            pauses += 1
        else:
            out.append(shape)
    return out, pauses


def as_bts_says(witness, ours):
    """The witness's list with what a BTS record can tell: one of a signal that came before a system
    call's instruction has the same two addresses as one of the call."""
    calls = {}
    for shape in set(ours):
        kind, source, target = shape.split()
        if kind in ("syscall", "int") and target == "0":
            calls[f"end {source} 0"] = shape
    return [calls.get(shape, shape) for shape in witness]


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
    return out


def of_stacks(listed):
    """A list of branch stacks without the marks between them."""
    return [shape for shape in listed if not shape.startswith(PICKED_UP)]


def addresses(listed):
    """Only from and to, which is what a branch stack has."""
    return [shape.split(" ", 1)[1] for shape in listed]


STACK_ENTRY = re.compile(r"0x([0-9a-f]+)/0x([0-9a-f]+)/")


def perf_stacks(lines):
    """{tid: [FROM TO]} from `perf script -F tid,ip,brstack`, oldest branch first."""
    threads = collections.defaultdict(list)
    for text in lines:
        tid = int(text.split(None, 1)[0])
        entries = [f"{source} {target}" for source, target in STACK_ENTRY.findall(text)]
        threads[tid].extend(reversed(entries))
    return dict(threads)
