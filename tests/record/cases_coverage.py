"""Coverage of recorded programs, held against what their source says and what other tools read."""

import json
import os
import re
import shutil

from box import HERE, check, equal

SOURCES = os.path.realpath(os.path.join(HERE, "..", "programs"))


def _module(box, name, options=()):
    coverage = json.loads(box.read("coverage", 0, None, ["--json", *options]))
    (found,) = [m for m in coverage["modules"] if m["path"].endswith("/" + name)]
    return found


def _line_of(source, text):
    with open(os.path.join(SOURCES, source), encoding="utf-8") as file:
        (found,) = [n for n, line in enumerate(file, 1) if text in line]
    return found


def _counts(module, source):
    (number,) = [i for i, path in enumerate(module["files"]) if path == os.path.join(SOURCES, source)]
    return {line["line"]: line["count"] for line in module["lines"] if line["file"] == number}


def coverage_of_lines_and_functions(box):
    box.record([box.program("longjmp")])
    module = _module(box, "longjmp")
    lines = _counts(module, "longjmp.c")
    calls_itself = sum(i % 7 for i in range(100))
    equal(lines[_line_of("longjmp.c", "++leaps")], 100, "++leaps")
    equal(lines[_line_of("longjmp.c", "return leap(depth - 1)")], calls_itself, "return")
    equal(lines[_line_of("longjmp.c", "if (depth == 0)")], 100 + calls_itself, "if")
    functions = {f["name"]: f for f in module["functions"]}
    equal(functions["leap"]["entered"], 100 + calls_itself, "leap entered")
    check(0 < functions["leap"]["blocks_hit"] < functions["leap"]["blocks"], "leap never returns")


def coverage_counts_each_instruction(box):
    """Instructions of the blocks times their counts are those of the recording."""
    box.record([box.program("hello_static")])
    coverage = json.loads(box.read("coverage", 0, None, ["--json"]))
    branches = box.stats()["branches"]
    edges = [e for m in coverage["modules"] for e in m["edges"]]
    kinds = branches["kinds"]
    taken = sum(e["count"] for e in edges if e["taken"])
    equal(taken, branches["taken"] - kinds["syscall"], "taken edges (system calls lead nowhere)")
    equal(sum(e["count"] for e in edges if not e["taken"]), branches["not_taken"], "not taken")
    blocks = {b["address"]: b["count"] for m in coverage["modules"] for b in m["blocks"]}
    entered = {}
    for edge in edges:
        entered[edge["to"]] = entered.get(edge["to"], 0) + edge["count"]
    for address, count in entered.items():
        check(blocks[address] >= count, f"{address}: entered {count} times, ran {blocks[address]}")


def coverage_across_exec(box):
    """Two programs of one process with the same code at the same addresses: each counts its own."""
    again = shutil.copy(box.own("executes_32"), box.path("again"))
    box.record([box.own("executes_32"), again, box.program("recursion_32")])
    for name in ("executes_32", "again"):
        entered = {f["name"]: f["entered"] for f in _module(box, name)["functions"]}
        equal((entered["main"], entered["_start"]), (1, 1), f"main and _start of {name}, entered")
    report = json.loads(box.read("report", 0, None, ["--json", "--top", "100000"]))
    calls = {(f["function"], f["object"]): f["calls"] for f in report["functions"]}
    mains = {program: count for (name, program), count in calls.items() if name == "main"}
    equal(mains, {"executes_32": 1, "again": 1, "recursion_32": 1}, "calls of main in the report")


def coverage_lists_files_by_path(box):
    """However many threads have counted, and whichever file ran first."""
    box.record([box.program("exceptions")])
    paths = [m["path"] for m in json.loads(box.read("coverage", 0, None, ["--json"]))["modules"]]
    check(len(paths) > 2, f"several files: {paths}")
    equal(paths, sorted(paths), "order of files")


def coverage_in_short_counts_what_is_listed(box):
    """The summary lists no blocks of functions that did not run, and the second time finds what was kept."""
    box.record([box.program("hello_static")])
    listed = json.loads(box.read("coverage", 0, None, ["--json"]))["modules"]
    (name,) = [m["path"] for m in listed if m["path"].endswith("/hello_static")]
    (module,) = [m for m in listed if m["path"] == name]
    check(module["functions_hit"] < module["functions_total"], "some functions did not run")
    shares = [(module[f"{what}_hit"], module[f"{what}_total"]) for what in ("functions", "blocks")]
    for time in ("first", "second"):
        text = box.read("coverage", 0, None, ["--module", "/hello_static"])
        (line,) = [one for one in text.splitlines() if one.rstrip().endswith("/hello_static")]
        numbers = re.findall(r"([\d,]+)/([\d,]+)", line)[:2]
        equal([tuple(int(n.replace(",", "")) for n in pair) for pair in numbers], shares, f"{time} time")


def coverage_of_32_bit_programs(box):
    box.record([box.program("recursion_32")])
    module = _module(box, "recursion_32")
    equal({f["name"]: f for f in module["functions"]}["main"]["entered"], 1, "main")


def genhtml_accepts_the_tracefile(box):
    genhtml = box.tool("genhtml")
    box.record([box.program("exceptions")])
    with open(box.path("run.info"), "w", encoding="utf-8") as file:
        file.write(box.read("coverage", 0, None, ["--format", "lcov", "--module", "/exceptions"]))
    done = box.run([genhtml, "--branch-coverage", "--demangle-cpp", "-o", "html", "run.info"])
    equal(done.returncode, 0, f"genhtml ({done.stderr[-1000:]!r})")
    # Version 2 knows gcov's files best, and says of all others that functions have no ends.
    complaints = re.sub(rb"genhtml: WARNING: \(unsupported\) Function begin/end [^\n]*\n\t[^\n]*\n", b"", done.stderr)
    equal(complaints, b"", "genhtml's complaints")
    check(re.search(rb"functions\.+: 100\.0%", done.stdout), done.stdout.decode())
    check(os.path.exists(box.path("html/index.html")), "html/index.html is there")
