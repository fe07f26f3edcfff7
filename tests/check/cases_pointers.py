"""Pointers to whole functions that are not the right ones: each form of pointers.txt is found as its line says."""

import os

from harness import CLEAN, FOUND, Failure, equal, lines, rules_of, symbols_of


# Of pointers_retpoline, whose indirect calls are returns.
OF_RETPOLINES = (
    "none", "shifted-vtable", "vtable-of-virtual", "destructor-of-other-slot", "other-class-after-its-own", "global-to-untaken",
    "global-to-virtual", "global-to-library", "more-arguments-after-a-library-call",
)  # fmt: skip


def form(tool, program, name, rule, place):
    data, output = tool.record([os.path.join(tool.programs, program), name])
    equal("reached" in output, True, "the form reached its end")
    result, status = tool.check(data)
    expected = set() if rule == "-" else {rule}
    equal((rules_of(result), status), (expected, FOUND if expected else CLEAN), "rules, status")
    if expected and place not in symbols_of(result["findings"][0]):
        raise Failure(f"the finding is at {symbols_of(result['findings'][0])}, expected {place}")


def cases():
    out = {}
    for name, *fields in lines("pointers.txt"):
        out[f"pointer.{name}"] = lambda tool, a=("pointers", name, *fields): form(tool, *a)
        if name in OF_RETPOLINES:
            out[f"pointer_retpoline.{name}"] = lambda tool, a=("pointers_retpoline", name, *fields): form(tool, *a)
    return out
