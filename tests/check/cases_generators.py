"""Programs that run code beside a generator's: who asked for the right to execute it has made it."""

import os

from harness import CLEAN, FOUND, Skip, equal, rules_of

# Forms of beside_generator, and whether they are found. What writes to a generator's page that the program
# may write to as it is makes no system call: code.unknown.md says so.
FORMS = {
    "none": False, "own-mapping": True, "own-rights": True, "own-place": True, "of-thread": True, "of-parent": True,
    "closure": True, "taken": True, "written": False, "made": False, "made-by-thread": False, "made-to-call": True,
    "made-to-interrupt": True, "made-to-jump-inside": True, "made-to-return-inside": True,
    "made-by-thread-to-call": True, "made-by-thread-to-jump-inside": True,
    "in-file": True, "library-in-memory": True,
}  # fmt: skip


def form(tool, name, found):
    command = [os.path.join(tool.programs, "beside_generator"), name]
    if os.system(f"'{command[0]}' none > /dev/null") != 0:
        raise Skip("there is no libpcre2-8")
    data, output = tool.record(command)
    equal("reached" in output, True, "the form reached its end")
    tool.both_ways(data)
    result, status = tool.check(data)
    expected = ({"code.unknown"}, FOUND) if found else (set(), CLEAN)
    equal((rules_of(result), status), expected, "rules, status")
    equal(result["explained"], 1, "explained findings: of the process, all that was made")
    if found and name not in ("closure", "in-file", "library-in-memory"):
        equal("beside_generator made executable" in result["findings"][0]["reason"], True, "the reason")


def cases():
    return {f"generator.{name}": lambda tool, a=(name, found): form(tool, *a) for name, found in FORMS.items()}
