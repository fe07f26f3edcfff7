"""Clean programs: no finding, also where their trace is damaged."""

import json
import os
import random
import shlex
import struct
import subprocess

from harness import CLEAN, INCOMPLETE, SOURCES, TIMEOUT, USAGE, Failure, equal, lines, without_sums


def clean(tool, options, command):
    options = options.split()
    expected = [int(o.removeprefix("status=")) for o in options if o.startswith("status=")]
    values = {"P": tool.programs, "S": SOURCES, "W": tool.work}
    for name, value in values.items():
        command = command.replace("{" + name + "}", value)
    data, _ = tool.record(shlex.split(command), expected[0] if expected else 0)
    result, status = tool.check(data)
    if result["findings"]:
        raise Failure(tool.text(data))
    equal(status, INCOMPLETE if "incomplete" in options else CLEAN, "status")
    explained = [int(o.removeprefix("explained=")) for o in options if o.startswith("explained=")]
    # Of processes that fork, how many come to run such code depends on the run.
    if "explained" not in options:
        equal(result["explained"], explained[0] if explained else int("jit" in options), "explained findings")
    if "quick" in options:
        tool.both_ways(data)
    if "windows" in options:
        data, _ = tool.record(shlex.split(command), options=["--source", "lbr", "--period", "7"])
        result, _ = tool.check(data)
        if result["findings"]:
            raise Failure(tool.text(data))


def thread_that_loads(tool):
    """What one thread loads was not there when another began, though BTS records have no times."""
    data, _ = tool.record([os.path.join(tool.programs, "thread_loads")], options=["--source", "bts"])
    result, status = tool.check(data)
    if result["findings"]:
        raise Failure(tool.text(data))
    equal(status, CLEAN, "status")


def payloads(data):
    """Where trace lies in a recording: (offset, size) of what each AUXTRACE record carries."""
    at, size = struct.unpack_from("<QQ", data, 40)  # perf_file_header::data
    end = at + size
    out = []
    while at < end:
        kind, _, length, payload = struct.unpack_from("<IHHQ", data, at)
        at += length
        if kind == 71:
            out.append((at, payload))
            at += payload
    return out


def damages(program, clean_bytes, places):
    """Forty recordings with a few bytes zeroed somewhere in the trace, and what was done to them."""
    for seed in range(40):
        dice = random.Random(f"{program} {seed}")
        size = dice.choice([1, 2, 4, 8, 16, 64])
        at, length = dice.choices(places, [length for _, length in places])[0]
        at += dice.randrange(length - size)
        yield clean_bytes[:at] + bytes(size) + clean_bytes[at + size :], f"seed {seed}, {size} bytes zeroed at {at}"


def doubtful_formats(tool, data, count):
    """Every format says that all of a recording's findings are doubtful."""
    said = {
        form: subprocess.run(
            [tool.hodo, "check", "--format", form, "--allow-incomplete", data],
            capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )
        for form in ("text", "html", "sarif")
    }  # fmt: skip
    equal({form: done.returncode for form, done in said.items()}, dict.fromkeys(said, INCOMPLETE), "status")
    equal(said["text"].stdout.count(", doubtful, "), count, "in the text")
    equal(f"({count} doubtful)" in said["text"].stdout, True, "in the text's last line")
    equal(said["html"].stdout.count('<p class="dim">doubtful: '), count, "on the page")
    results = json.loads(said["sarif"].stdout)["runs"][0]["results"]
    equal([(r["level"], r["properties"]["doubtful"]) for r in results], [("note", True)] * count, "in SARIF")


def damage(tool, program):
    """Damage accuses nobody: hodo's own recordings tell which bytes have changed, and none of those is followed."""
    data, _ = tool.record([os.path.join(tool.programs, program)])
    with open(data, "rb") as file:
        clean_bytes = file.read()
    for damaged, what in damages(program, clean_bytes, payloads(clean_bytes)):
        with open(data, "wb") as file:
            file.write(damaged)
        result, status = tool.check(data)
        expected = ([], CLEAN) if damaged == clean_bytes else ([], INCOMPLETE)
        if (result["findings"], status) != expected:
            raise Failure(f"{what}: status {status}\n{tool.text(data)}")


def mappings(data):
    """Where a recording says where files were mapped: the offsets of MMAP2's address."""
    begin, size = struct.unpack_from("<QQ", data, 40)
    at, out = begin, []
    while at < begin + size:
        kind, _, length, payload = struct.unpack_from("<IHHQ", data, at)
        if kind == 10:
            out.append(at + 16)
        at += length + (payload if kind == 71 else 0)
    return out


def damage_of_records(tool, program):
    """What records say of processes, mappings and code may be wrong, and every finding may come of that."""
    data, _ = tool.record([os.path.join(tool.programs, program)])
    with open(data, "rb") as file:
        clean_bytes = file.read()
    begin, size = struct.unpack_from("<QQ", clean_bytes, 40)
    trace = payloads(clean_bytes)
    records = [at for at in range(begin, begin + size) if not any(t <= at < t + length for t, length in trace)]
    dice = random.Random(program)
    changes = [(dice.choice(records), 1 << dice.randrange(8)) for _ in range(10)]
    # By a page: what is there fits the path for a while.
    changes += [(at + 1, 0x10) for at in mappings(clean_bytes)]
    doubtful = 0
    for at, bit in changes:
        damaged = bytearray(clean_bytes)
        damaged[at] ^= bit
        with open(data, "wb") as file:
            file.write(damaged)
        status = subprocess.run(
            [tool.hodo, "check", data], capture_output=True, timeout=TIMEOUT, check=False
        ).returncode  # fmt: skip
        if status not in (INCOMPLETE, USAGE):
            raise Failure(f"a bit changed at {at}: status {status}\n{tool.text(data)}")
        if status == INCOMPLETE:
            doubtful += len(tool.check(data)[0]["findings"])
    equal(doubtful > 0, True, "some damage leads to findings")


def damage_without_sums(tool, program):
    """What damage makes of a clean program's trace is doubtful, and the check incomplete.

    Of what is damaged a little can fit the code by chance, to the end: without sums nobody can tell that it is damage.
    """
    data, _ = tool.record([os.path.join(tool.programs, program)])
    with open(data, "rb") as file:
        clean_bytes = without_sums(file.read())
    doubtful = unnoticed = 0
    for damaged, what in damages(program, clean_bytes, payloads(clean_bytes)):
        with open(data, "wb") as file:
            file.write(damaged)
        result, status = tool.check(data)
        found = [f for f in result["findings"] if not f["doubtful"]]
        if result["findings"] and result["losses"] and doubtful == 0:
            doubtful_formats(tool, data, len(result["findings"]))
        doubtful += len(result["findings"])
        if not result["losses"]:
            unnoticed += bool(found)
        elif found or status != INCOMPLETE:
            raise Failure(f"{what}: status {status}\n{tool.text(data)}")
    equal(unnoticed < 5, True, "damage is noticed, but for chance")
    # Else nothing was tried.
    equal(doubtful > 0, True, "some damage leads to findings")


def programs():
    """{case: (function of a tool, whether ./test runs it)} of each line of clean.txt"""
    return {
        f"clean.{name}": (lambda t, a=(options, command): clean(t, *a), "quick" in options.split())
        for name, options, command in lines("clean.txt")
    }


def cases():
    quick = {name: function for name, (function, in_test) in programs().items() if in_test}
    return {
        "damage": lambda t: damage(t, "threads"),
        "damage.records": lambda t: damage_of_records(t, "threads"),
        "damage.without_sums": lambda t: damage_without_sums(t, "threads"),
        "bts.clean": thread_that_loads,
        **quick,
    }
