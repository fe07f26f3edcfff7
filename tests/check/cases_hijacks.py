"""Hijacked programs: each form of hijacks.txt is found by the rules that its line names."""

import os
import struct
import subprocess

from harness import (
    CLEAN, FOUND, INCOMPLETE, SOURCES, TIMEOUT, WINDOWS, Failure, equal, lines, rules_of, symbols_of,
    without_sums,
)  # fmt: skip

# Forms that are none in 32-bit programs: QEMU does not lay them out at the addresses that they see, by which
# /proc/self/mem goes; and a fork is not known by its system call, which the vDSO makes.
ONLY_64 = {
    "text-through-proc", "rop-in-child",
    # Of hijacks_planted.h.
    "handler-inside", "handler-sensitive", "label-of-another", "context-to-closed-label",
    "jmpbuf-to-entry", "pointer-beside-held-slot", "pointer-beside-wrapper", "pointer-beside-asked",
    "asked-pointer-to-another", "pointer-in-frame-to-another", "pointer-in-frame-to-other-choice", "slot-to-stub", "library-chooses-another", "coroutine-inside",
    "coroutine-behind-call", "coroutine-to-function",
    "pushed-inside", "pushed-untaken", "stored-inside", "stored-untaken", "flags-inside", "moved-inside", "left-out-inside", "jumped-inside",
    "jumped-untaken", "kept-place-inside", "kept-place-behind-call", "kept-place-untaken", "behind-nop", "behind-start-inside", "behind-start-of-another",
    "to-handler", "to-handler-of-open", "label-in-table-of-another", "context-to-untaken", "context-to-global", "kernel-page-hooked", "handler-to-untaken", "handler-to-label",
    "label-of-its-own", "argument-inside", "argument-jumped", "argument-elsewhere", "check-skipped",
    "context-behind-code", "context-of-handler", "label-of-interrupted", "behind-slot-elsewhere",
    # Of hijacks_bare.h.
    "to-joined-handler", "bare-inside", "behind-label-to-open-call", "behind-label-inside", "label-by-distance",
    "label-by-distance-inside",
    # Of hijacks_deceived.h.
    "page-mapped-over", "library-mapped-over", "page-moved-over", "finished-elsewhere", "far-to-function", "flags-and-stack-inside", "sigreturn-by-restorer", "resolver-changed", "descriptor-changed", "restorer-inside", "signal-stack-moved", "exception-to-other-handler",
}  # fmt: skip
# Of hijacks_retpoline, whose indirect calls and jumps are returns: pointers to whole functions are found as they are elsewhere.
OF_RETPOLINES = {
    "none", "pointer-to-library", "pointer-to-system", "library-by-pointer", "slot-overwritten", "slot-to-stub",
    "chosen-slot-overwritten", "pointer-beside-held-slot", "pointer-beside-wrapper", "pointer-beside-asked",
    "asked-pointer-to-another", "pointer-in-frame-to-another", "pointer-in-frame-to-other-choice", "pushed-inside", "stored-inside",
}  # fmt: skip
# Of hijacks_relocated, into whose text the dynamic linker has written: as where it has not.
OF_RELOCATED = {
    "none", "pointer-inside", "jop", "vtable", "handler-inside", "label-of-another", "label-in-table-of-another", "pushed-untaken",
    "argument-jumped", "descriptor-changed", "finished-elsewhere", "behind-start-inside",
}  # fmt: skip
# What no program can do under QEMU, as the code that ran is known: a branch that its instruction does not make. Whether branch
# stacks show it; the records themselves are changed.
OF_RECORDS = {"text.source": True, "text.target": True}


def hijack(tool, program, form, first, others):
    data, output = tool.record([os.path.join(tool.programs, program), form])
    if "reached" not in output:
        raise Failure("the hijack did not reach its end")
    tool.both_ways(data)
    result, status = tool.check(data)
    rule, _, place = first.partition(" ")
    expected = set(others.split()) | ({rule} if rule != "-" else set())
    equal(rules_of(result), expected, "rules")
    equal(status, FOUND if expected else CLEAN, "status")
    if not expected:
        return
    finding = result["findings"][0]
    equal(finding["rule"], rule, "the first rule")
    equal("(bad)" in finding["reason"], False, "an instruction that cannot be read")
    if place not in symbols_of(finding):
        raise Failure(f"the first finding is at {symbols_of(finding)}, expected {place}")
    if not finding["before"]:
        raise Failure("no branches before the finding")


def without_names(tool):
    """A longjmp that no symbol tells of."""
    data, output = tool.record([os.path.join(tool.programs, "jmpbuf_overwritten")])
    equal("reached" in output, True, "the hijack reached its end")
    result, status = tool.check(data)
    equal((rules_of(result), len(result["findings"]), status), ({"return.target"}, 1, FOUND), "rules")


def slot_of_static(tool):
    """A slot of a function that a static program chooses for itself leads to one that nothing points to."""
    data, output = tool.record([os.path.join(tool.programs, "static_program"), "slot"])
    equal("reached" in output, True, "the hijack reached its end")
    result, status = tool.check(data)
    equal((rules_of(result), status), ({"call.function"}, FOUND), "rules, status")
    equal("untaken" in symbols_of(result["findings"][0]), True, "the function")


def memory_over_text(tool):
    """Code in no file that the program itself made, where its own text should be."""
    data, output = tool.record([os.path.join(tool.programs, "hijacks"), "memory-over-text"])
    equal("reached" in output, True, "the hijack reached its end")
    tool.both_ways(data)
    result, status = tool.check(data)
    equal((rules_of(result), len(result["findings"]), status), ({"text.target"}, 1, FOUND), "rules")


def preloaded(tool):
    """A library whose constructor does all that it is for and ends the program before it begins."""
    library = os.path.join(tool.programs, "libinjected.so")
    data, output = tool.record(["env", f"LD_PRELOAD={library}", os.path.join(tool.programs, "hello")])
    equal("reached" in output, True, "the library's constructor ran")
    result, status = tool.check(data)
    equal((rules_of(result), len(result["findings"]), status), ({"library.injected"}, 1, FOUND), "rules")


def copied_stack(tool):
    """The setjmp of a function that has returned, reached without the copy of the stack that it needs."""
    data, _ = tool.record([os.path.join(tool.programs, "copied_stack"), "attack"])
    tool.both_ways(data)
    result, status = tool.check(data)
    equal((rules_of(result), len(result["findings"]), status), ({"return.target"}, 1, FOUND), "rules")


def by_records(tool, program, form, expected, options):
    """The same in a recording of BTS records or branch stacks."""
    data, _ = tool.record([os.path.join(tool.programs, program), form], options=options)
    result, status = tool.check(data)
    equal(rules_of(result), expected, "rules")
    windows = options == WINDOWS
    equal(result["complete"], not windows, "complete")
    equal(status, FOUND if expected else INCOMPLETE if windows else CLEAN, "status")


def forms():
    """(form, RULE PLACE, rules besides, all rules, those in windows) of each hijack."""
    for form, first, others, windows in lines("hijacks.txt"):
        rules = set(others.split()) | ({first.partition(" ")[0]} - {"-"})
        yield form, first, others, rules, rules if windows == "=" else set(windows.split()) - {"-"}


def sums(_):
    """The table of docs/rules/README.md says what the list of hijacks says."""
    counts = {}
    for _, _, _, rules, windows in forms():
        for rule in rules:
            row = counts.setdefault(rule, [0, 0, 0])
            counts[rule] = [row[0] + 1, row[1] + 1, row[2] + (rule in windows)]
    for rule, windows in OF_RECORDS.items():
        intel_pt, bts, lbr = counts.get(rule, [0, 0, 0])
        counts[rule] = [intel_pt, bts + 1, lbr + windows]
    expected = {f"| {rule} | {a} | {b} | {c} |" for rule, (a, b, c) in counts.items()}
    with open(os.path.join(SOURCES, "docs/rules/README.md"), encoding="utf-8") as file:
        section = file.read().partition("## How it was tried")[2].partition("RIPE64")[0]
    rows = {line for line in section.splitlines() if line.startswith("|")}
    equal({row for row in rows if any(c.isdigit() for c in row)}, expected, "the table")


def changed_record(tool, rule, options):
    """A call that led behind the first instructions of a function, or a branch that one of them made."""
    program = os.path.join(tool.programs, "hijacks")
    data, _ = tool.record([program, "none"], options=options)
    listed = subprocess.run(
        [tool.hodo, "branches", "--format", "csv", data],
        capture_output=True, text=True, timeout=TIMEOUT, check=True,
    )  # fmt: skip
    header, *rows = (line.split(",") for line in listed.stdout.splitlines())
    # (kind, from, to) of two in a row: the call, and the next branch, some instructions later.
    columns = [header.index(name) for name in ("kind", "from", "to")]
    branches = [[row[c] for c in columns] for row in rows]
    (_, *call), (_, *after) = [
        (a, b) for a, b in zip(branches, branches[1:])
        if (a[0], b[0]) == ("call", "cond") and a[2] != b[1]
    ][-1]  # fmt: skip
    if rule == "text.target":
        old, new = call, (call[0], after[0])
    else:
        old, new = after, (call[1], after[1])
    packed = lambda pair: struct.pack("<QQ", *(int(address, 16) for address in pair))
    with open(data, "rb") as file:
        content = file.read()
    equal(packed(old) in content, True, "the record is in the file")
    with open(data, "wb") as file:
        file.write(without_sums(content.replace(packed(old), packed(new))))
    result, status = tool.check(data)
    # Where a call counts as none, a return may be a further step.
    equal(([f["rule"] for f in result["findings"]], status), ([rule], FOUND), "rules, status")
    finding = result["findings"][0]
    equal((finding["from"]["address"], finding["to"]["address"]), new, "the branch")


def injected_record(tool, program):
    """A debugger stops the thread, sets its registers so that it goes on in dlopen, and lets it go."""
    options = ["--source", "bts"]
    data, _ = tool.record([os.path.join(tool.programs, program), "library-by-pointer"], options=options)
    called = next(f for f in tool.check(data)[0]["findings"] if f["rule"] == "call.sensitive")
    ends = lambda branch: [branch[end]["address"] for end in ("from", "to")]
    stopped, back, called = (ends(b) for b in (*called["before"][-2:], called))
    # Where the last jump before had led to, the thread leaves for the kernel, and comes back in dlopen.
    changes = [(back, (stopped[1], "0x0")), (called, ("0x0", called[1]))]
    with open(data, "rb") as file:
        content = file.read()
    for old, new in changes:
        old, new = (struct.pack("<QQ", *(int(address, 16) for address in pair)) for pair in (old, new))
        equal(content.count(old), 1, "records of this branch")
        content = content.replace(old, new)
    with open(data, "wb") as file:
        file.write(without_sums(content))
    result, status = tool.check(data)
    rules = {"library.injected", "call.sensitive"}
    equal((rules_of(result), status), (rules, FOUND), "rules, status")
    equal(all("a debugger" in f["reason"] for f in result["findings"]), True, "the reasons")


def sensitive_pointer(tool, program):
    """However the program is built: with the function's own address, or that of its stub, or static."""
    for source in ("qemu", "bts"):
        data, _ = tool.record([os.path.join(tool.programs, program), "pointer"], options=["--source", source])
        result, status = tool.check(data)
        equal((rules_of(result), status), ({"call.sensitive"}, FOUND), f"{source}: rules, status")
        ends = {name.removesuffix("@plt") for name in symbols_of(result["findings"][0])}
        equal(ends, {"main", "seteuid"}, f"{source}: ends")


def sensitive_context(tool, program):
    """The same of a stack that was made to begin there."""
    data, _ = tool.record([os.path.join(tool.programs, program), "context"])
    result, status = tool.check(data)
    equal((rules_of(result), status), ({"return.target"}, FOUND), "rules, status")


def large_model(tool):
    """Where a function has the distance to a stub or slot as a number, calls by it are by name, those through objects not."""
    for program in ("large_model", "large_model_slots"):
        for form, expected in (("named", (set(), CLEAN)), ("pointer", ({"call.sensitive"}, FOUND))):
            data, _ = tool.record([os.path.join(tool.programs, program), form])
            result, status = tool.check(data)
            equal((rules_of(result), status), expected, f"{program} {form}: rules, status")


def cases():
    out = {"table": sums, "without-names": without_names, "large-model": large_model, "copied-stack": copied_stack,
           "slot-of-static": slot_of_static, "memory-over-text": memory_over_text, "preloaded": preloaded}
    for form, first, others, rules, windows in forms():
        for program, suffix in (("hijacks", ""), ("hijacks_32", "_32")):
            if suffix and form in ONLY_64:
                continue
            a = (program, form, first, others)
            out[f"hijack{suffix}.{form}"] = lambda t, a=a: hijack(t, *a)
            if not suffix and form in OF_RETPOLINES:
                a = ("hijacks_retpoline", form, first, others)
                out[f"hijack_retpoline.{form}"] = lambda t, a=a: hijack(t, *a)
            if not suffix and form in OF_RELOCATED:
                a = ("hijacks_relocated", form, first, others)
                out[f"hijack_relocated.{form}"] = lambda t, a=a: hijack(t, *a)
            for source, found, how in (("bts", rules, ["--source", "bts"]), ("lbr", windows, WINDOWS)):
                a = (program, form, found, how)
                out[f"{source}{suffix}.{form}"] = lambda t, a=a: by_records(t, *a)
    for how in ("", "_nopie", "_static", "_static_pie", "_cet", "_retpoline", "_32", "_nopie_32", "_noplt_32"):
        out[f"sensitive{how}"] = lambda t, p=f"sensitive{how}": sensitive_pointer(t, p)
        out[f"sensitive-context{how}"] = lambda t, p=f"sensitive{how}": sensitive_context(t, p)
    for rule, windows in OF_RECORDS.items():
        for source, how in [("bts", ["--source", "bts"])] + ([("lbr", WINDOWS)] if windows else []):
            out[f"{source}.{rule}"] = lambda t, a=(rule, how): changed_record(t, *a)
    for program in ("hijacks", "hijacks_32"):
        out[f"bts.debugger.{program}"] = lambda t, p=program: injected_record(t, p)
    return out
