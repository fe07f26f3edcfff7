"""Flow graphs of recorded functions, held against what their source says."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree

from box import check, equal

BLOCK = re.compile(r'  b(\d+) \[label="(.*)"(, fillcolor=yellow)?\];')
EDGE = re.compile(r"  b(\d+) -> (\w+) \[(.*)\];")

ODD = 'evil"]<b>&x'  # the name that the function `evil` gets
# A switch that becomes a jump table.
SWITCH = r"""
#include <stdio.h>
__attribute__((noipa)) static int twice(int i) { return 2 * i; }
__attribute__((noipa)) int evil(int i) {
  switch (i) {
    case 0: puts("a"); return twice(i);
    case 1: puts("b"); return 5;
    case 2: puts("c"); return 7;
    case 3: puts("d"); return 11;
    case 4: puts("e"); return 13;
    case 5: puts("f"); return 17;
    default: return 0;
  }
}
int main(void) {
  int sum = 0;
  for (int i = 0; i < 30; ++i) sum += evil(i % 3 * 2);
  return sum == 0;
}
"""


class Graph:
    """What `hodo export --to cfg-dot` drew."""

    def __init__(self, text):
        self.blocks = {}  # number: (instructions, times that it ran)
        self.edges = []  # (from, to, count, attributes)
        for line in text.splitlines():
            if block := BLOCK.match(line):
                insns = block[2].split("\\l")
                ran = re.fullmatch(r"ran (once|[\d,]+ times)\\r", insns.pop())
                count = 0 if not ran else 1 if ran[1] == "once" else int(ran[1].split()[0].replace(",", ""))
                equal(block[3] is not None, count != 0, f"{line} is yellow")
                self.blocks[int(block[1])] = (insns, count)
            elif edge := EDGE.match(line):
                label = re.search(r'label="([\d,]+)"', edge[3])
                count = int(label[1].replace(",", "")) if label else 0
                self.edges.append((int(edge[1]), edge[2], count, edge[3]))


def _graph(box, function, options=()):
    return Graph(box.read("export", 0, None, ["--to", "cfg-dot", "--function", function, *options]))


def _fails(box, options, reason):
    done = box.run([box.hodo, "export", *options, box.data])
    equal(done.returncode, 2, f"exit status of {options}")
    check(reason in done.stderr, f"{options}: {done.stderr!r}")


def export_of_a_function(box):
    box.record([box.program("longjmp")])
    graph = _graph(box, "leap")
    calls_itself = sum(i % 7 for i in range(100))
    # if (depth == 0) longjmp(...): the first block, the two that follow it, and no other.
    equal([count for _, count in graph.blocks.values()], [100 + calls_itself, calls_itself, 100], "ran")
    equal(
        sorted((source, target, count) for source, target, count, _ in graph.edges),
        [(0, "b1", calls_itself), (0, "b2", 100)],
        "edges",
    )
    check("<longjmp@plt>" in graph.blocks[2][0][-1], "the call has its target's name")


def export_of_all_functions(box):
    """Blocks run as often as coverage counts, and as the edges to them."""
    box.record([box.program("exceptions")])
    coverage = json.loads(box.read("coverage", 0, None, ["--json", "--module", "/exceptions"]))
    (module,) = [m for m in coverage["modules"] if m["blocks"]]
    names = [f["name"] for f in module["functions"] if f["blocks_hit"] > 1]
    check(len(names) > 3, "a few functions ran")
    for name in names:
        graph = _graph(box, name, ["--module", "/exceptions"])
        check(any(count for _, count in graph.blocks.values()), f"{name} ran")
        for number, (insns, count) in graph.blocks.items():
            into = sum(edge[2] for edge in graph.edges if edge[1] == f"b{number}")
            check(into <= count, f"{name}: {insns[0]} ran {count} times, {into} times by edges")


def export_of_jump_tables_and_odd_names(box):
    source, program = box.path("names.c"), box.path("names")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SWITCH)
    subprocess.run(["cc", "-O1", "-fno-pie", "-c", "-o", program + ".o", source], check=True)
    subprocess.run(["objcopy", "--redefine-sym", "evil=" + ODD, program + ".o"], check=True)
    subprocess.run(["cc", "-no-pie", "-o", program, program + ".o"], check=True)
    box.record([program])
    graph = _graph(box, ODD)
    cases = [edge for edge in graph.edges if "dashed" in edge[3]]
    equal([count for _, _, count, _ in cases], [10, 10, 10], "the three cases that ran")
    equal(graph.blocks[0][1], 30, "calls")
    box.tool("dot")
    svg = box.path("evil.svg")
    box.read("export", 0, None, ["--to", "cfg-svg", "--function", ODD, "-o", svg])
    tree = xml.etree.ElementTree.parse(svg)
    text = "".join(tree.getroot().itertext())
    check(ODD in text, "the picture has the function's name as it is")
    check(not [e for e in tree.iter() if e.tag.endswith("}b")], "the name made no element")


def _functions(box, name):
    coverage = json.loads(box.read("coverage", 0, None, ["--json", "--module", "/" + name]))
    return {f["address"]: f for m in coverage["modules"] for f in m["functions"]}


# The compiler's own, without unwind tables: where they end nobody can say.
START_UP = ("deregister_tm_clones", "register_tm_clones", "frame_dummy")


def export_of_stripped_programs(box):
    """Without symbols a program has the same functions, by their addresses, in every command."""
    box.record([box.program("longjmp")])
    named = _functions(box, "longjmp")
    (leap,) = [f["address"] for f in named.values() if f["name"] == "leap"]
    graph = _graph(box, "leap")
    bare = box.path("bare")
    subprocess.run(["strip", "-o", bare, box.program("longjmp")], check=True)
    box.record([bare])
    found = _functions(box, "bare")
    for address, function in named.items():
        if function["blocks_hit"] == 0 or function["name"].startswith("_") or function["name"] in START_UP:
            continue
        same = found[address]
        equal((same["name"], same.get("synthetic")), ("sub_" + address[2:], True), function["name"])
        for fact in ("size", "entered", "blocks", "blocks_hit"):
            equal(same[fact], function[fact], f"{fact} of {function['name']}")
    name = "sub_" + leap[2:]
    for wanted in (name, leap, hex(int(leap, 16) + 1)):
        drawn = _graph(box, wanted, ["--module", "/bare"])
        equal([count for _, count in drawn.blocks.values()], [count for _, count in graph.blocks.values()], wanted)
    report = json.loads(box.read("report", 0, None, ["--json", "--top", "1000"]))
    functions = {f["function"]: f for f in report["functions"]}
    check(functions[name].get("synthetic") is True, f"report tells {name} from a name")
    left = functions.get("[bare]", {"instructions": 0})
    check(left["instructions"] < 20, f"nothing but start-up code is left over: {left}")
    calls = json.loads(box.read("calls", 0, None, ["--json"]))
    check({"name": name, "object": bare, "synthetic": True} in calls["functions"], f"calls know {name}")
    _fails(box, ["--to", "cfg-dot", "--function", "0xfffffffffff"], b"no function '0xfffffffffff' ran")


def export_of_a_cut_file(box):
    box.record([box.program("longjmp")])
    os.truncate(box.data, os.path.getsize(box.data) * 3 // 4)
    done = box.run([box.hodo, "export", "--to", "cfg-dot", "--function", "no_such", box.data])
    equal(done.returncode, 2, "exit status")
    check(b"part of the recording was lost" in done.stderr, f"{done.stderr!r}")


def export_that_cannot_be(box):
    box.record([box.program("longjmp")])
    dot = ["--to", "cfg-dot", "--function"]
    _fails(box, [*dot, "no_such_function"], b"no function 'no_such_function' ran")
    # The loader has one, too; Debian 13's has no names.
    named = box.run([box.hodo, "list", "_start", "--module", "ld-linux", box.data]).returncode == 0
    if named:
        _fails(box, [*dot, "_start"], b"2 functions that are called '_start' ran; name the file of")
    _fails(box, [*dot, "leap", "--module", "libc"], b"no function 'leap' of 'libc' ran")
    _fails(box, ["--function", "leap"], b"--to")
    _fails(box, [*dot, "leap", "-o", "/no/such/folder/x"], b"cannot write /no/such/folder/x")
    svg = ["--to", "cfg-svg", "--function", "leap"]
    done = box.run([box.hodo, "export", *svg, box.data], env={**os.environ, "PATH": "/nowhere"})
    equal(done.returncode, 2, "exit status without dot")
    check(b"apt-get install graphviz" in done.stderr, f"{done.stderr!r}")
