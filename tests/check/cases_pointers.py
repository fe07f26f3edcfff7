"""Pointers to whole functions that are not the right ones: each form of pointers.txt is found as its line says."""

import os

from harness import CLEAN, FOUND, Failure, equal, lines, rules_of, symbols_of


def form(tool, name, rule, place):
    data, output = tool.record([os.path.join(tool.programs, "pointers"), name])
    equal("reached" in output, True, "the form reached its end")
    result, status = tool.check(data)
    expected = set() if rule == "-" else {rule}
    equal((rules_of(result), status), (expected, FOUND if expected else CLEAN), "rules, status")
    if expected and place not in symbols_of(result["findings"][0]):
        raise Failure(f"the finding is at {symbols_of(result['findings'][0])}, expected {place}")


def cases():
    return {
        f"pointer.{name}": lambda tool, a=(name, *fields): form(tool, *a) for name, *fields in lines("pointers.txt")
    }
