"""What `hodo annotate` and `hodo export` make of a recording, held against `hodo list` and the readers
or the published descriptions of the formats."""

import glob
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

NUMBER = {"type": "number", "minimum": 0}
INDEX = {"type": "integer", "minimum": 0}
# After https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources.
SPEEDSCOPE = {
    "type": "object",
    "required": ["$schema", "shared", "profiles"],
    "properties": {
        "$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
        "shared": {"type": "object", "required": ["frames"], "properties": {"frames": {
            "type": "array",
            "items": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "file": {"type": "string"}, "line": NUMBER, "col": NUMBER}}}}},
        "profiles": {"type": "array", "minItems": 1, "items": {
            "type": "object",
            "required": ["type", "name", "unit", "startValue", "endValue", "events"],
            "properties": {
                "type": {"const": "evented"}, "name": {"type": "string"},
                "unit": {"enum": ["none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"]},
                "startValue": NUMBER, "endValue": NUMBER,
                "events": {"type": "array", "items": {
                    "type": "object", "required": ["type", "frame", "at"],
                    "properties": {"type": {"enum": ["O", "C"]}, "frame": INDEX, "at": NUMBER}}}}}},
    },
}


def _table(**columns):
    """A table of the Firefox Profiler: columns of equal length."""
    properties = {name: {"type": "array", "items": items} for name, items in columns.items()}
    return {"type": "object", "required": [*columns, "length"], "properties": {**properties, "length": INDEX}}


def _or_null(schema):
    return {"anyOf": [schema, {"type": "null"}]}


# After src/types/profile.js of the Firefox Profiler, at version 48 of the processed format.
FIREFOX = {
    "type": "object",
    "required": ["meta", "libs", "threads"],
    "properties": {
        "meta": {
            "type": "object",
            "required": ["interval", "startTime", "processType", "categories", "product", "stackwalk", "version",
                         "preprocessedProfileVersion", "markerSchema"],
            "properties": {"preprocessedProfileVersion": {"const": 48}, "startTime": NUMBER},
        },
        "threads": {"type": "array", "minItems": 1, "items": {
            "type": "object",
            "required": ["processType", "processStartupTime", "processShutdownTime", "registerTime",
                         "unregisterTime", "pausedRanges", "name", "isMainThread", "pid", "tid", "samples", "markers",
                         "stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "stringArray"],
            "properties": {
                "pid": {"type": "string"}, "isMainThread": {"type": "boolean"},
                "samples": _table(stack=_or_null(INDEX), time=NUMBER, weight=NUMBER),
                "markers": _table(data={}, name={}, startTime={}, endTime={}, phase={}, category={}),
                "stackTable": _table(frame=INDEX, prefix=_or_null(INDEX), category=INDEX, subcategory=INDEX),
                "frameTable": _table(
                    address={"type": "integer"}, inlineDepth=INDEX, category=_or_null(INDEX),
                    subcategory=_or_null(INDEX), func=INDEX, nativeSymbol=_or_null(INDEX),
                    innerWindowID=_or_null(INDEX), implementation=_or_null(INDEX), line=_or_null(INDEX),
                    column=_or_null(INDEX)),
                "funcTable": _table(
                    isJS={"type": "boolean"}, relevantForJS={"type": "boolean"}, name=INDEX,
                    resource={"type": "integer", "minimum": -1}, fileName=_or_null(INDEX),
                    lineNumber=_or_null(INDEX), columnNumber=_or_null(INDEX)),
                "resourceTable": _table(lib=_or_null(INDEX), name=INDEX, host=_or_null(INDEX), type=INDEX),
                "nativeSymbols": _table(libIndex=INDEX, address=INDEX, name=INDEX, functionSize=_or_null(INDEX)),
                "stringArray": {"type": "array", "items": {"type": "string"}},
            },
        }},
    },
}


def annotate(case, check, data, _program):
    """The three calls of parse, "12a", "7" and "b": how often each instruction ran."""
    whole = case.json("annotate", "parse", data)
    check(whole["entered"] == 3, whole["entered"])
    insns = [i for block in whole["blocks"] for i in block["instructions"]]
    check(sorted(i["count"] for i in insns if i["text"].startswith("call")) == [2, 3], "letters and digits")
    addresses = [int(i["address"], 16) for i in insns]
    check(addresses == sorted(addresses) and [i["offset"] for i in insns][0] == 0, "in order")
    for block in whole["blocks"]:
        last = block["instructions"][-1]
        ways = [way["count"] for way in block["to"]]
        check(not ways or sum(ways) == last["count"], f"{block['number']}: {ways} of {last}")
        for way in block["to"]:
            check("block" not in way or way["address"] == whole["blocks"][way["block"]]["address"], way)
    covered = case.json("coverage", data)
    lines = {(f, n["line"]): n["count"] for m in covered["modules"] for n in m.get("lines", [])
             for f in [m["files"][n["file"]] if isinstance(n["file"], int) else n["file"]]}
    for line in whole["lines"]:
        check(lines[(line["file"], line["line"])] >= line["count"], f"coverage of {line}")
    one = case.json("annotate", "parse", data, "--call", "parse#3")
    calls = [i["count"] for b in one["blocks"] for i in b["instructions"] if i["text"].startswith("call")]
    check(one["entered"] == 1 and sorted(calls) == [0, 1], f"the call of 'b': {calls}")
    executed = sum(i["count"] for b in one["blocks"] for i in b["instructions"])
    inside = case.json("annotate", "letter", data, "--call", "parse#3")
    executed += sum(i["count"] for b in inside["blocks"] for i in b["instructions"])
    listed = case.json("list", "parse", data)["calls"][2]
    check(executed == listed["instructions"], f"{executed} instructions of {listed}")
    text = case.hodo("annotate", "parse", data, "--call", "parse#3", "--only-ran").stdout
    check("never ran" in text and "sum += letter(*text);" in text, text)
    check("digit(" not in text, "what did not run is folded")
    address = case.json("annotate", insns[3]["address"], data)
    check(address["function"] == "parse", "by an address in it")
    check("did you mean 'parse'" in case.hodo("annotate", "parsed", data, status=2).stderr, "no such function")
    check(case.json("annotate", "parse!parse", data) == whole, "with the name of its file")
    check("did you mean 'parse'" in case.hodo("annotate", "parse!prase", data, status=2).stderr, "of a file")
    told = case.hodo("annotate", "parse", data, "--module", "libc", status=2).stderr
    check("'parse' of 'libc' ran" in told and "/parse" in told, told)
    check("only 3" in case.hodo("annotate", "parse", data, "--call", "parse#9", status=2).stderr, "call")
    check("--call" in case.hodo("annotate", "parse", data, "--call", "parse#1", "--last", "3", status=2).stderr,
          "contradiction")


def slices(events, check):
    """(name, begin, end, outer names) of a timeline's calls; events are (open, name, at)."""
    out, stack, now = [], [], 0
    for opens, name, at in events:
        check(at >= now, f"{at} after {now}")
        now = at
        if opens:
            stack.append((name, at))
            continue
        check(stack, "more ends than beginnings")
        opened, begin = stack.pop()
        check(name in (None, opened), f"{name} ends {opened}")
        out.append((opened, begin, at, [n for n, _ in stack]))
    check(not stack, f"{stack} are never closed")
    return sorted(out, key=lambda s: s[1])


def _same_calls(found, listed, check, axis):
    parse = [s for s in found if s[0] == "parse"]
    check(len(parse) == len(listed), f"{len(parse)} calls of parse")
    for (_, begin, end, outer), call in zip(parse, listed):
        check(outer[-1] == "main", outer)
        if axis == "instructions":
            check(end - begin == call["instructions"], f"{begin} to {end}, {call}")
        else:
            check((begin, end - begin) == (call["time"], call["duration"]), f"{begin} to {end}, {call}")
    check(sum(s[0] == "letter" and s[3][-1] == "parse" for s in found) == 2, "letters below parse")


def timelines(case, check, data, _program):
    try:
        import jsonschema
    except ImportError:
        print("skipped: python3-jsonschema is not installed")
        sys.exit(77)
    listed = case.json("list", "parse", data)["calls"]
    for axis in ("time", "instructions"):
        def export(name, axis=axis):
            return json.loads(case.hodo("export", data, "--to", name, "--by", axis).stdout)

        perfetto = export("perfetto")["traceEvents"]
        check({e["ph"] for e in perfetto} == {"M", "B", "E"}, "phases")
        check(all(isinstance(e["pid"], int) and isinstance(e["tid"], int) for e in perfetto), "numbers")
        check({e["name"] for e in perfetto if e["ph"] == "M"} == {"process_name", "thread_name"}, "names")
        scale = 1000 if axis == "time" else 1  # microseconds
        found = slices([(e["ph"] == "B", e.get("name"), round(e["ts"] * scale)) for e in perfetto
                        if e["ph"] != "M"], check)
        _same_calls(found, listed, check, axis)

        speedscope = export("speedscope")
        jsonschema.validate(speedscope, SPEEDSCOPE)
        frames = [f["name"] for f in speedscope["shared"]["frames"]]
        (profile,) = speedscope["profiles"]
        same = slices([(e["type"] == "O", frames[e["frame"]], e["at"]) for e in profile["events"]], check)
        check(same == found, "speedscope has the slices that Perfetto has")
        check(profile["startValue"] == found[0][1] and profile["endValue"] == max(s[2] for s in found), "ends")

        firefox = export("firefox")
        jsonschema.validate(firefox, FIREFOX)
        (thread,) = firefox["threads"]
        unit = 1e-6 if axis == "time" else 1  # milliseconds
        check(abs(_weight_of(thread, "parse", check) - unit * sum(s[2] - s[1] for s in found if s[0] == "parse"))
              < 1e-3, "firefox's weights")
    _stacks_of_threads(case, check)
    part = json.loads(case.hodo("export", data, "--to", "speedscope", "--call", "parse#3", "--depth", "1").stdout)
    names = {f["name"] for f in part["shared"]["frames"]}
    check("parse" in names and not names & {"letter", "digit"}, f"--call and --depth: {names}")
    check("--by" in case.hodo("export", data, "--to", "cfg-dot", "--function", "parse", "--by", "time",
                              status=2).stderr, "--by")
    check("--function" in case.hodo("export", data, "--to", "cfg-dot", status=2).stderr, "--function")
    _flames(case, check, data)


def _stacks_of_threads(case, check):
    """Branch stacks of all threads lie in one queue: each thread is there once all the same."""
    data = case.record("stacks.data", os.path.join(case.args.programs, "threads"), source="lbr",
                       options=("--period", "40"))
    by = ("--by", "instructions")
    events = json.loads(case.hodo("export", data, "--to", "perfetto", *by).stdout)["traceEvents"]
    named = [e["tid"] for e in events if e["name" if e["ph"] == "M" else "ph"] == "thread_name"]
    check(len(named) == len(set(named)) > 1, f"threads {named}")
    for tid in named:
        slices([(e["ph"] == "B", e.get("name"), e["ts"]) for e in events if e["ph"] != "M" and e["tid"] == tid], check)
    profiles = json.loads(case.hodo("export", data, "--to", "speedscope", *by).stdout)["profiles"]
    check(len(profiles) == len(named), f"{len(profiles)} profiles of {len(named)} threads")


def large_source(regions, name):
    """choose() has many blocks, of which five run: `regions` hang together, one stands alone."""
    never = "\n".join(f"    if (y == {i}) sink = {i * 3 + 1};" for i in range(regions))
    return f"""
volatile int sink;
template <class A> struct {name} {{
  __attribute__((noinline)) static int run(int x) {{ return x * 3 + (int)sizeof(A); }}
}};
__attribute__((noinline)) int choose(int x, int y) {{
  if (x > 1000) {{
{never}
  }}
  if (x == 7) sink = {name}<long>::run(x);
  if (x == 8) sink = 3;
  return sink;
}}
int main() {{ return choose(7, 1) + choose(9, 1) == 5; }}
"""


def _drawn(case, check, data, *options):
    """The boxes of choose() by the lines of their labels, and its edges, as Graphviz reads them."""
    dot = case.hodo("export", data, "--to", "cfg-dot", "--function", "choose", *options).stdout
    read = subprocess.run(["dot", "-Tjson0"], input=dot, capture_output=True, text=True, check=True).stdout
    graph = json.loads(read)
    boxes = [box["label"] for box in graph["objects"]]
    edges = [(boxes[e["tail"]], boxes[e["head"]]) for e in graph.get("edges", [])]
    check(len(set(edges)) == len(edges) or "--all-blocks" in options, f"an edge is drawn twice: {edges}")
    return boxes, edges, dot


def graphs(case, check):
    """Of a large function what never ran is folded, and names that are too long are cut."""
    long = "a_name_that_is_so_long_that_nobody_who_looks_at_a_picture_of_a_function_reads_it_to_its_end"
    data = case.record("graph.data", case.program("large_class", large_source(20, long), "-O1", "-fno-if-conversion"))
    every, edges, _ = _drawn(case, check, data, "--all-blocks")
    ran = [label for label in every if "ran " in label]
    check(len(every) > 40 and 3 < len(ran) < 8, f"{len(ran)} of {len(every)} blocks ran")
    only, only_edges, _ = _drawn(case, check, data, "--only-ran")
    check(sorted(only) == sorted(ran), f"--only-ran: {only}")
    check(sorted(only_edges) == sorted(e for e in edges if e[0] in ran and e[1] in ran), f"their edges: {only_edges}")
    folded, folded_edges, dot = _drawn(case, check, data)
    boxes = [label for label in folded if "never ran" in label]
    check(sorted(set(folded) - set(boxes)) == sorted(ran), f"folded: {folded}")
    blocks = [int(re.search(r"([\d,]+) block", box)[1]) for box in boxes]
    check(sum(blocks) == len(every) - len(ran) and max(blocks) > 20 and len(boxes) >= 2, f"regions of {blocks} blocks")
    check(all(any(box == e[1] for e in folded_edges) for box in boxes), "a way leads to each")
    check(long not in dot and f"<{long[:30]}" in dot, "the name is cut")
    small = case.hodo("export", data, "--to", "cfg-dot", "--function", "main").stdout
    check("never ran" not in small, "a small function is drawn as it is")
    picture = case.hodo("export", data, "--to", "cfg-svg", "--function", "choose").stdout
    text = "".join(xml.etree.ElementTree.fromstring(picture.encode()).itertext())
    check(text.count("never ran") == len(boxes), "the picture has them")
    for options in (("cfg-dot", "--only-ran", "--all-blocks"), ("perfetto", "--only-ran"), ("bolt", "--all-blocks")):
        told = case.hodo("export", data, "--function", "choose", "--to", *options, status=2).stderr
        check("--only-ran and --all-blocks" in told, told)


def _weight_of(thread, name, check):
    """Of all samples with this function on their stack."""
    for table in thread.values():
        if isinstance(table, dict) and "length" in table:
            for column in table.values():
                check(not isinstance(column, list) or len(column) == table["length"], f"columns of {list(table)}")
    strings, functions = thread["stringArray"], thread["funcTable"]["name"]
    frames, stacks = thread["frameTable"]["func"], thread["stackTable"]
    total = 0
    for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
        while stack is not None:
            if strings[functions[frames[stacks["frame"][stack]]]] == name:
                total += weight
                break
            check(stacks["prefix"][stack] is None or stacks["prefix"][stack] < stack, "prefixes come first")
            stack = stacks["prefix"][stack]
    return total


def _flames(case, check, data):
    path = case.path("flames.svg")
    case.hodo("export", data, "--to", "flame-svg", "-o", path)
    root = xml.etree.ElementTree.parse(path).getroot()
    check(not [e for e in root.iter() if e.tag.endswith("}script")], "no script")
    space = "{http://www.w3.org/2000/svg}"
    boxes = {}
    for group in root.iter(space + "g"):
        title = re.match(r"(.*), ([\d,]+) instructions, .*?(?:, ([\d,]+) calls)?$", group.find(space + "title").text)
        rect = group.find(space + "rect")
        boxes.setdefault(title[1], []).append((int(title[2].replace(",", "")), rect))
    calls = case.json("calls", data)
    whole = sum(thread["instructions"] for thread in calls["threads"])
    names = [f["name"] for f in calls["functions"]]
    want = {}
    for at in (p for thread in calls["threads"] for p in thread["paths"]):
        want[names[at["function"]]] = want.get(names[at["function"]], 0) + at["instructions"]
    for title, found in boxes.items():
        name = title.split(" (")[0]
        if name in want and "main" in name:
            check(sum(count for count, _ in found) == want[name], f"{title}: {found}, not {want[name]}")
            for count, rect in found:
                check(abs(float(rect.get("width")) - 1200 * count / whole) < 0.1, f"width of {title}")
    check(any(title.startswith("main") for title in boxes), f"{list(boxes)}")


def profiles(case, check, data, program):
    """perf2bolt and llvm-profgen find the exact counts in their formats."""
    def export(name, recording=data):
        path = case.path(name + ".txt")
        case.hodo("export", recording, "--to", name, "--module", "/parse", "-o", path)
        return path

    listed = {}
    for b in case.branches(data):
        if b["kind"] in ("cond", "jmp", "call", "ret") and "to" in b:
            listed[(b["from"], b["to"])] = listed.get((b["from"], b["to"]), 0) + 1
    with open(export("bolt"), encoding="ascii") as file:
        lines = [line.split() for line in file]
    found = {("0x" + f, "0x" + t): int(n) for kind, f, t, n, *_ in lines if kind == "B" and "X" not in f + t}
    check(found and all(listed.get(edge) == count for edge, count in found.items()),
          "branches of bolt are those of hodo branches")  # the program is not relocated
    with open(export("autofdo"), encoding="ascii") as file:
        text = file.read().splitlines()
    ranges = int(text[0])
    check(text[1 + ranges] == "0" and len(text) == 3 + ranges + int(text[2 + ranges]), "three tables")
    branches = dict(line.rsplit(":", 1) for line in text[3 + ranges:])
    base = _first_segment(program)
    check(base != 0, "the program has a place of its own")
    check(branches == {f"{int(f, 16) - base:x}->{int(t, 16) - base:x}": str(n) for (f, t), n in found.items()},
          "autofdo's branches, counted from the first segment")
    for line in text[1:1 + ranges]:
        first, last, count = re.fullmatch(r"([0-9a-f]+)-([0-9a-f]+):(\d+)", line).groups()
        check(int(first, 16) <= int(last, 16) and int(count) > 0, line)
    _profgen(program, export("llvm-profgen"), case.path("prof"), check)
    _bolt(program, export("bolt"), case.path("fdata"), check)
    lbr = case.record("lbr.data", program, *["12a"] * 200, source="lbr", options=("--period", "40"))
    with open(export("bolt", lbr), encoding="ascii") as file:
        stacks = [line.split() for line in file]
    check(any(line[0] == "B" and f"0x{line[1]}" in {edge[0] for edge in listed} for line in stacks),
          f"branches of branch stacks: {stacks[:5]}")
    refused = case.hodo("export", data, "--to", "bolt", status=2).stderr
    check("--module says which" in refused and "/parse" in refused, refused)
    refused = case.hodo("export", data, "--to", "bolt", "--module", "nowhere", status=2).stderr
    check("no file whose path contains 'nowhere'" in refused and "/parse" in refused, refused)
    still = case.program("still", "void _start(void) { __asm__(\"mov $60, %eax; xor %edi, %edi; syscall\"); }",
                         "-O1", "-nostdlib", "-static")
    refused = case.hodo("export", case.record("still.data", still), "--to", "bolt", "--module", "still", status=2).stderr
    check("no file took a branch" in refused and refused.endswith("\n"), refused)


def _first_segment(program):
    headers = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
    return min(int(line.split()[2], 16) for line in headers.splitlines() if line.split()[:1] == ["LOAD"])


def _tool(name):
    found = sorted(glob.glob(f"/usr/lib/llvm-*/bin/{name}"))
    return found[-1] if found else None


def _profgen(program, profile, out, check):
    tool = _tool("llvm-profgen")
    if tool is None:
        print("skipped: llvm-profgen is not installed (package llvm-19)")
        sys.exit(77)
    done = subprocess.run([tool, "--use-offset=0", f"--unsymbolized-profile={profile}", f"--binary={program}", f"--output={out}",
                           "--format=text"], capture_output=True, text=True, check=False)
    check(done.returncode == 0, done.stderr)
    with open(out, encoding="utf-8") as file:
        heads = {line.split(":")[0]: int(line.split(":")[2]) for line in file if line[0] not in " !"}
    check(heads.get("parse") == 3 and heads.get("letter") == 2 and heads.get("digit") == 3, f"heads {heads}")


def _bolt(program, profile, out, check):
    tool = _tool("perf2bolt")
    if tool is None:
        print("skipped: perf2bolt is not installed (package bolt-19)")
        sys.exit(77)
    done = subprocess.run([tool, "-pa", "-p", profile, "-o", out, program], capture_output=True, text=True,
                          check=False)
    check(done.returncode == 0, done.stdout + done.stderr)
    with open(out, encoding="utf-8") as file:
        lines = [line.split() for line in file]
    # 1 FROM OFFSET 1 TO OFFSET MISSES COUNT; a file-local function has its file in its name.
    calls = {}
    for line in lines:
        if len(line) == 8 and line[5] == "0" and line[1] != line[4]:
            name = line[4].split("/")[0]
            calls[name] = calls.get(name, 0) + int(line[7])
    check(calls.get("parse") == 3 and calls.get("letter") == 2 and calls.get("digit") == 3, f"calls {calls}")
    check(os.path.getsize(out) > 0, "a profile")
