"""Source lines and inlined functions of recorded programs."""

import json
import re

from box import check, equal


def branches_have_source_lines(box):
    box.record([box.program("longjmp")])
    out = box.read("branches", 0, None, ["--srcline"])
    calls = re.findall(r" call .* leap\+\S+ \(longjmp\) (\S+) => \S+ leap\+0x0 \(longjmp\) (\S+)", out)
    equal(len(calls), sum(i % 7 for i in range(100)), "calls of leap by itself")
    equal(set(calls), {("longjmp.c:9", "longjmp.c:7")}, "their lines")
    check("longjmp.c" not in box.read("branches", 0), "no lines unless asked")


def report_has_source_lines_and_inlined_functions(box):
    box.record([box.program("dispatch")])
    check(" dispatch.cc:" in box.read("report", 0, None, ["--srcline", "--top", "400"]), "lines")
    report = json.loads(box.read("report", 0, None, ["--json", "--inline", "--top", "400"]))
    names = [f["function"] for f in report["functions"] if f["object"] == "dispatch"]
    check(any(name.endswith(" (inlined)") for name in names), names)


def calls_through_stubs_are_counted(box):
    box.record([box.program("threads")])
    report = box.read("report", 0, None, ["--json", "--top", "10000"])
    functions = {f["function"]: f for f in json.loads(report)["functions"]}
    # Four workers lock 200 times each, all through the stub.
    check(functions["pthread_mutex_lock"]["calls"] >= 800, functions["pthread_mutex_lock"])
