#!/usr/bin/env python3
"""Asks hodo serve about recordings of small programs, and holds its answers against the commands'.

    run.py CASE --hodo HODO --programs DIR --work DIR
    run.py --list

A case is a function below. Exit status 77: skipped, since its recorder does not work here.
"""

import argparse
import collections
import html
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import time

from server import WAIT, Failed, Server, check

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from tile import in_slices  # noqa: E402

NESTED = r"""
#include <stdio.h>
__attribute__((noinline)) static int leaf(int n) { volatile int a = n; return a * 3; }
__attribute__((noinline)) static int down(int n) { return n == 0 ? leaf(n) : down(n - 1) + leaf(n); }
int main(int argc, char** argv) {
  int sum = 0;
  for (int i = 0; i < 11 + argc; ++i) sum += down(i);
  printf("%d\n", sum);
  *(volatile int*)(long)(sum - sum) = 1;   /* dies here */
  return 0;
}
"""

# Ten million calls in some ten megabytes of trace: more than an overview keeps one by one.
LONG = r"""
#include <stdint.h>
static uint64_t state = 88172645463325252u;
__attribute__((noinline)) static int step(void) {
  state ^= state << 13; state ^= state >> 7; state ^= state << 17;
  return state & 1 ? 1 : -1;
}
__attribute__((noinline)) static int walk(int n) {
  int at = 0;
  while (n-- > 0) if (step() > 0) at += 3; else at -= 2;
  return at;
}
int main(void) {
  int sum = 0;
  for (int i = 0; i < 150; ++i) sum += walk(i * 1000);
  return sum == 1;
}
"""


class Case:
    def __init__(self, args, work):
        self.args, self.work = args, work
        self.env = dict(os.environ, XDG_CACHE_HOME=os.path.join(work, "cache"))
        os.makedirs(self.env["XDG_CACHE_HOME"])

    def path(self, name):
        return os.path.join(self.work, name)

    def json(self, *words):
        done = subprocess.run([self.args.hodo, *words, "--json"], capture_output=True, text=True, env=self.env,
                              cwd=self.work, check=False)
        check(done.stdout, f"hodo {' '.join(words)}: {done.stderr}")
        return json.loads(done.stdout)

    def record(self, *command, source="dbi"):
        data = self.path("a.data")
        done = subprocess.run([self.args.hodo, "record", "--source", source, "-o", data, "--", *command],
                              capture_output=True, text=True, check=False)
        if not os.path.exists(data):
            print(f"skipped: {source} does not record here: {done.stderr.strip()}")
            sys.exit(77)
        return data

    def program(self, source):
        path = self.path("program.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", path, "-o", self.path("program")],
                       check=True)
        return self.path("program")

    def server(self, data, before=None):
        return Server(self.args.hodo, data, cwd=self.work, env=self.env, before=before)


def same(what, one, other, without=()):
    for name in without:
        one.pop(name, None)
    if one == other:
        return
    for name in set(one) | set(other):
        if one.get(name) != other.get(name):
            raise Failed(f"{what}: {name} differs:\n{str(one.get(name))[:600]}\n{str(other.get(name))[:600]}")


def case_commands(case):
    """What a command answers, too, is what it says."""
    data = case.record(case.program(NESTED))
    with case.server(data) as server:
        for at in ("call:down#3", "crash", "end", "start"):
            same("scene " + at, server.ask("scene", at=at, around=5), case.json("show", at, data, "--around", "5"))
        stepped = server.ask("scene", at="call:down#3", steps=["call", "-insn"], next="leaf")
        same("scene", stepped, case.json("show", "call:down#3", data, "--step", "call", "--step=-insn", "--next", "leaf"))
        same("calls", server.ask("calls", function="leaf"), case.json("list", "leaf", data))
        some = server.ask("calls", function="leaf", sort="instructions", limit=4)
        whole = case.json("list", "leaf", data, "--sort", "instructions", "--top", "4")
        check(some["more"] == whole["count"] - 4, f"{some['more']} more of {whole['count']}")
        same("calls", some, whole, ["more"])
        for how in ({"function": "down"}, {"function": "down", "call": "down#5"}):
            words = [data, *(["--call", how["call"]] if "call" in how else [])]
            code = server.ask("code", **how)
            text = {line["line"]: line["text"] for line in code["source"][0]["lines"]}
            check(any("down(n - 1)" in line for line in text.values()), f"the source is not there: {text}")
            same("code", code, case.json("annotate", "down", *words), ["source"])
        same("stats", server.ask("stats"), case.json("stats", data))
        same("report", server.ask("report"), case.json("report", data))
        whole = case.json("coverage", data)
        same("coverage", server.ask("coverage", limit=0), whole)
        for cut, full in zip(server.ask("coverage", limit=3)["modules"], whole["modules"]):
            for part, count in (("functions", "blocks_hit"), ("blocks", "count"), ("edges", "count"), ("lines", "count")):
                ran = [row for row in full[part] if row[count]]
                rest = [row for row in full[part] if not row[count]]
                check(cut[part] == (full[part] if len(full[part]) <= 3 else (ran + rest)[:3]), f"{part}: {cut[part]}")
                check(cut.get("left_out", {}).get(part, 0) == max(len(full[part]) - 3, 0), f"{part}: {cut}")
        same("findings", server.ask("findings"), case.json("check", data))
        same("ends", server.ask("ends"), case.json("crash", data))
        moment = server.ask("moment", at="call:down#3")
        check(moment["moment"] == case.json("show", "call:down#3", data)["moment"], moment)
        scene = server.ask("scene", at="call:down#3", around=9)
        ran = {"from": scene["ran"], "to": scene["ran"] + 9}
        stepped = server.ask("steps", thread=moment["thread"], **ran)["steps"]
        first = [one["moment"] for one in scene["instructions"]].index(scene["moment"])
        check([(one["moment"], one["text"], one["address"]) for one in stepped] ==
              [(one["moment"], one["text"], one["at"]["address"]) for one in scene["instructions"][first:first + 9]], stepped)
        functions = server.ask("coverage", parts=["functions"], module="program")["modules"]
        check(len(functions) == 1 and "blocks" not in functions[0], functions)
        check(server.end() == 0, "its status")


def case_search(case):
    """What one types is found."""
    data = case.record(case.program(NESTED))
    with case.server(data) as server:
        found = server.ask("search", text="LEA", limit=500)["found"]
        leaf = [one for one in found if one["kind"] == "function" and one["text"] == "leaf"]
        check(len(leaf) == 1 and leaf[0]["calls"] == case.json("list", "leaf", data)["count"], leaf)
        line = server.ask("search", text="program.c:3")["found"][0]
        check(line["kind"] == "line" and line["line"] == 3, line)
        check(server.ask("scene", at=line["moment"])["stands_at"]["line"] == 3, "the line's moment")
        check(server.ask("search", text="program")["found"][0]["kind"] in ("process", "file"), "the process")
        check(server.ask("search", text="crash")["found"][0]["kind"] == "moment", "a moment")
        where = server.ask("scene", at="call:leaf")["stands_at"]["address"]
        check("leaf" in server.ask("search", text=where)["found"][0]["detail"], "an address")
        none = server.ask("search", text="no such thing anywhere")
        check(none == {"found": [], "more": 0}, none)
        file = leaf[0]["file"]
        lines = {line["line"]: line["count"] for line in server.ask("code", file=file)["lines"]}
        check(lines[3] == leaf[0]["calls"], lines)
        error = server.refused("code", file="/etc/passwd")
        check(error["data"]["cause"] == "not_found", error)


def case_places(case):
    """From an address, line or function to its next and last execution; a function's picture; notes."""
    data = case.record(case.program(NESTED))
    with case.server(data) as server:
        moments = [call["moment"] for call in case.json("list", "leaf", data)["calls"]]
        where = server.ask("scene", at=moments[4])["stands_at"]
        line = f"{where['file']}:{where['line']}"
        for what in ({"function": "leaf"}, {"address": where["address"]}, {"line": line}):
            there = server.ask("around", at=moments[4], direction="next", **what)["moment"]
            check(there == moments[5], f"behind {moments[4]} comes {there} by {what}")
            back = server.ask("around", at=moments[4], direction="previous", **what)["moment"]
            check(back == moments[3], f"before {moments[4]} comes {back} by {what}")
        check(server.refused("around", at=moments[-1], direction="next", function="leaf")["data"]["cause"] == "not_found",
              "there is none behind the last one")
        scene = server.ask("scene", at="call:down#3", around=4)
        here = [one for one in scene["instructions"] if one["moment"] == scene["moment"]]
        check(len(here) == 1 and here[0]["text"] == scene["instruction"], scene["instructions"])
        lines = {one["line"]: one for one in scene["source"]["lines"]}
        check("int down(int n)" in lines[scene["source"]["line"]]["text"], scene["source"])
        if shutil.which("dot"):
            svg = html.unescape(server.ask("graph", function="down")["svg"])
            for block in case.json("annotate", "down", data)["blocks"]:
                check(f'id="b-{block["address"]}"' in svg, f"block {block['address']} has no id")
        check(server.refused("graph", function="nosuch")["data"]["cause"] == "usage", "a graph of nothing")
        check(server.ask("notes")["notes"] == [], "notes before there are any")
        notes = [{"moment": moments[0], "text": "<b>\u202e here\n"}]
        kept = server.ask("notes", set=notes)
        check(kept["notes"] == notes and os.stat(kept["file"]).st_mode & 0o777 == 0o600, kept)
    with case.server(data) as server:
        check(server.ask("notes")["notes"] == notes, "notes are gone")
        for bad in ("no JSON", '{"notes": 1}', "[" * 1000, "[" + " " * (2 << 20) + "]"):
            with open(kept["file"], "w", encoding="utf-8") as file:
                file.write(bad)
            check(server.refused("notes")["data"]["cause"] == "malformed", bad[:20])
        os.unlink(kept["file"])
        os.mkfifo(kept["file"])
        check(server.refused("notes")["data"]["cause"] == "malformed", "a pipe")
        os.unlink(kept["file"])


def case_diff(case):
    """Where runs part is what hodo diff says."""
    data = case.record(case.program(NESTED))
    os.rename(data, case.path("b.data"))
    case.record(case.path("program"), "an argument")
    with Server(case.args.hodo, "a.data", cwd=case.work, env=case.env) as server:
        same("two runs", server.ask("diff", other="b.data"), case.json("diff", "a.data", "b.data"))
        ours, theirs = server.ask("flame"), server.ask("flame", other="b.data")
        with Server(case.args.hodo, "b.data", cwd=case.work, env=case.env) as other:
            same("the other one's flame graph", theirs, other.ask("flame"))
        check(ours["total"] == case.json("report", "a.data")["instructions"] != theirs["total"], "whose flame graph it is")
        two = server.ask("diff", call="down#3", other_call="down#70")
        check(two["paths"][0]["partings"], two)
        same("two calls", two, case.json("diff", "a.data", "--call", "down#3", "--call", "down#70"))
        check(server.refused("diff", call="down#3")["data"]["cause"] == "usage", "one call")
        check(server.refused("diff", other="nosuch.data")["data"]["cause"] == "not_found", "no such file")


def lines_of(connection, *messages):
    """Sends messages, and gives the answers to all of them."""
    connection.settimeout(WAIT)
    connection.sendall("".join(json.dumps(m) + "\n" for m in messages).encode())
    read, answers = b"", []
    while len(answers) < len(messages):
        more = connection.recv(1 << 16)
        check(more, "the server closed the connection")
        read += more
        *whole, read = read.split(b"\n")
        answers += [one for one in map(json.loads, whole) if "method" not in one]
    return answers


def connect(path):
    connection = socket.socket(socket.AF_UNIX)
    for _ in range(WAIT * 20):
        try:
            connection.connect(path)
            return connection
        except OSError:
            time.sleep(0.05)
    raise Failed("nobody listens on " + path)


def case_socket(case):
    """A socket: several at once, of this user alone, removed at the end."""
    data, path = case.record(case.program(NESTED)), case.path("s")
    serve = [case.args.hodo, "serve", "--socket", path, data]

    def question(number, method="info"):
        return {"jsonrpc": "2.0", "id": number, "method": method}
    with subprocess.Popen(serve, env=case.env) as server:
        try:
            one, two = connect(path), connect(path)
            check(os.stat(path).st_mode & 0o777 == 0o600, oct(os.stat(path).st_mode))
            first = lines_of(one, question(1), question(2, "stats"))
            check([a["id"] for a in first] == [1, 2], first)
            check(lines_of(two, question(1))[0]["result"] == first[0]["result"], "two are told different things")
            one.sendall(b'{"jsonrpc":"2.0","id":1,"met')  # and gone in the middle of a word
            one.close()
            check(lines_of(two, question(3))[0]["id"] == 3, "the other one is still answered")
            many = [connect(path) for _ in range(40)]
            answered = 0
            for each in many:
                try:
                    answered += bool(lines_of(each, question(4)))
                except (Failed, OSError):
                    pass
            for each in many:  # not before: a place that is free again goes to one that still waits
                each.close()
            check(10 <= answered <= 16, f"{answered} of 40 were answered")
            check(lines_of(two, question(5))[0]["id"] == 5, "the first one is still answered")
            done = subprocess.run(serve, capture_output=True, text=True, env=case.env, check=False)
            check(done.returncode == 2 and "listens" in done.stderr, f"a second server: {done}")
            server.terminate()
            check(server.wait(WAIT) == 0 and not os.path.exists(path), "its end")
        finally:
            server.kill()
    for what, why in ((data, "no socket"), ("x" * 200, "bytes")):
        words = [case.args.hodo, "serve", "--socket", what, data]
        done = subprocess.run(words, capture_output=True, text=True, env=case.env, check=False)
        check(done.returncode == 2 and why in done.stderr, f"{what}: {done}")
    left = socket.socket(socket.AF_UNIX)
    left.bind(path)
    left.close()  # as a server that was killed leaves it
    with subprocess.Popen(serve, env=case.env) as server:
        try:
            check(lines_of(connect(path), question(6))[0]["id"] == 6, "in the place of a dead one")
        finally:
            server.kill()


def case_mcp(case):
    """The Model Context Protocol: what a client says, and bounded answers."""
    data = case.record(case.program(NESTED))
    words = [case.args.hodo, "serve", "--mcp", data]
    with case.server(data) as server:
        first = server.ask("tree")["children"][0]["name"]  # the loader's, which may have no name
    messages, wanted = [], []

    def add(method, params=None, number=True):
        messages.append({"jsonrpc": "2.0", "method": method, **({"params": params} if params is not None else {})})
        if number:
            messages[-1]["id"] = len(wanted)
            wanted.append(method)
    add("initialize", {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
    add("notifications/initialized", number=False)
    add("ping")
    add("tools/list")
    calls = {"recording": {}, "ends": {}, "report": {}, "show": {"at": "crash"}, "calls": {"function": "leaf"},
             "call_tree": {"path": [first]}, "code": {"function": "down"},
             "next": {"at": "call:leaf", "function": "leaf", "direction": "next"}, "search": {"text": "leaf"},
             "diff": {"call": "down#3", "other_call": "down#4"}}
    for tool, arguments in calls.items():
        add("tools/call", {"name": tool, "arguments": arguments})
    ran = [f for module in case.json("coverage", data)["modules"] for f in module["functions"] if f["blocks_hit"]]
    add("tools/call", {"name": "code", "arguments": {"function": max(ran, key=lambda f: f["size"])["name"]}})
    add("tools/call", {"name": "calls", "arguments": {"function": "nosuch"}})
    add("tools/call", {"name": "calls", "arguments": {"nosuch": 1}})
    add("tools/call", {"name": "nosuch"})
    add("tools/call", {"arguments": {}})
    add("tools/call", {"name": 7})
    add("nosuch")
    batches = [[messages[0], messages[1], {"jsonrpc": "2.0", "id": "b", "method": "ping"}, 7], [messages[1]], []]
    lines = "\n".join(map(json.dumps, messages + batches)) + "\nnonsense\n"
    done = subprocess.run(words, input=lines, capture_output=True, text=True, env=case.env, check=False, timeout=WAIT)
    check(done.returncode == 0, done)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    batch, empty = answers.pop(-3), answers.pop(-2)
    check([a["id"] for a in batch] == [0, "b", None] and batch[2]["error"]["code"] == -32600, batch)
    check(empty["id"] is None and empty["error"]["code"] == -32600, empty)
    check([a["id"] for a in answers] == [*range(len(wanted)), None], "every request has one answer")
    check(answers[0]["result"]["protocolVersion"] == "2025-03-26", answers[0])
    tools = answers[2]["result"]["tools"]
    check({tool["name"] for tool in tools} == set(calls) and len(tools) <= 10, tools)
    check(all(tool["inputSchema"]["type"] == "object" for tool in tools), tools)
    said = {}
    for name, answer in zip([*calls, "long"], answers[3:]):
        result = answer["result"]
        check(not result["isError"], f"{name}: {result}")
        text = result["content"][0]["text"]
        check(len(text) <= 24 << 10, f"{name} says {len(text)} bytes")
        said[name] = json.loads(text)
    check(said["calls"]["count"] == case.json("list", "leaf", data)["count"], said["calls"]["count"])
    check(said["calls"]["more"] == said["calls"]["count"] - 30, "what is left out is said")
    check("left_out" in json.dumps(said["long"]), "what is cut is said")
    check(said["show"]["calls"][0]["function"] == "main", said["show"]["calls"])
    wrong = answers[3 + len(calls) + 1:]
    check(wrong[0]["result"]["isError"] and "nosuch" in wrong[0]["result"]["content"][0]["text"], wrong[0])
    check(wrong[1]["result"]["isError"] and "members" in wrong[1]["result"]["content"][0]["text"], wrong[1])
    check([w["error"]["code"] for w in wrong[2:]] == [-32602, -32602, -32602, -32601, -32700], wrong[2:])
    for answer, says in zip(wrong[2:], ("there is no tool 'nosuch'; there are recording, ends,", "needs a tool's 'name': recording,",
                                        "needs a tool's 'name': recording,")):
        check(says in answer["error"]["message"], answer)


def case_sources(case):
    """Of branch records and branch stacks, too; and of a file that grows."""
    for source, samples in (("bts", False), ("lbr", True), ("dbi", False)):
        data = case.record(os.path.join(case.args.programs, "recursion"), source=source)
        with case.server(data) as server:
            info = server.ask("info")
            check(info["source"] == {"dbi": "pt"}.get(source, source), info["source"])
            check(info["can"]["samples_only"] == samples, f"{source}: {info['can']}")
            stats = case.json("stats", data)
            check(info["instructions"] == stats["instructions"], f"{source}: {info['instructions']}")
            check(server.ask("flame")["total"] == stats["instructions"], f"the flame graph of {source}")
            thread = info["processes"][0]["threads"][0]
            tile = tiles(server, thread["thread"], "instructions", thread["instructions"])
            check(tile["rows"], f"nothing is drawn of {source}")
            same("scene", server.ask("scene", at="end"), case.json("show", "end", data))
    size = os.path.getsize(data)
    with open(data, "rb") as file:
        whole = file.read()
    with open(data, "wb") as file:
        file.write(whole[:size * 3 // 4])
    with case.server(data) as server:
        part = server.ask("info")
        check(not part["complete"] and not part["changed"] and part["losses"], part["losses"])
        check(not server.ask("reopen")["changed"], "nothing has changed")
        with open(data, "ab") as file:
            file.write(whole[size * 3 // 4:])
        check(server.ask("info")["changed"], "it has grown")
        check(server.ask("reopen")["changed"], "it is opened again")
        check(server.ask("info")["instructions"] == info["instructions"] > part["instructions"], "all of it is there")


def tiles(server, thread, axis, end, **more):
    return in_slices(server.ask("tile", **{"thread": thread, "axis": axis, "from": 0, "to": end, "width": 16384, **more}))


def case_timeline(case):
    """Slices are the calls that hodo list has, and what they cost is what hodo calls says."""
    data = case.record(case.program(NESTED))
    calls = case.json("calls", data)
    with case.server(data) as server:
        info = server.ask("info")
        thread = info["processes"][0]["threads"][0]
        end = thread["instructions"]
        tile = tiles(server, thread["thread"], "instructions", end)
        by_name = collections.defaultdict(dict)
        for row in tile["rows"]:
            places = [(s["from"], s["to"]) for s in row["slices"]]
            check(places == sorted(places), f"row {row['depth']} is not in order")
            for one in row["slices"]:
                if one["count"] == 1:
                    by_name[tile["names"][one["name"]]["name"]][one["moment"]] = (one["to"] - one["from"], row["depth"])
        once = [name for name, calls in by_name.items() if name != "_start" and [d for _, d in calls.values()] == [1]]
        check(once, "a function that the first one calls")
        for name in ("main", "down", "leaf", *once):
            listed = {call["moment"]: call["instructions"] for call in case.json("list", name, data)["calls"]}
            drawn = {moment: length for moment, (length, _) in by_name[name].items()}
            check(listed == drawn, f"{name}: {len(listed)} calls are listed, {len(drawn)} drawn")
        for moment, (_, depth) in list(by_name["leaf"].items())[::7]:
            check(len(case.json("show", moment, data)["calls"]) == depth + 1, f"the depth of {moment}")
        whole = in_slices(server.ask("tile", thread=thread["thread"], axis="instructions", to=end, width=7, **{"from": 0}))
        count = sum(s["count"] for row in tile["rows"] for s in row["slices"])
        check(count == sum(s["count"] for row in whole["rows"] for s in row["slices"]), "merged slices' calls")
        check(all(len(row["slices"]) <= 15 for row in whole["rows"]), "slices for seven pixels")
        # By time: as long as the calls.
        tile = tiles(server, thread["thread"], "time", info["duration_ns"])
        start = info["start_ns"]
        listed = {call["moment"]: call for call in case.json("list", "main", data)["calls"]}
        drawn = [s for row in tile["rows"] for s in row["slices"] if s["moment"] in listed and s["count"] == 1]
        check(drawn, "main is not drawn by time")
        check(all(s["from"] + start == listed[s["moment"]]["time"] for s in drawn
                  if tile["names"][s["name"]]["name"] == "main"), "main's time")
        check([m for m in tile["marks"] if m["kind"] == "end"], "the process's end is marked")
        flames(server, thread, calls)
        parts(server, thread)


def flames(server, thread, calls):
    exact = 0
    mine = [t for t in calls["threads"] if str(t["tid"]) == thread["thread"]][0]
    for by, total, own in (("instructions", "instructions", "self_instructions"), ("time", "time", "self_time")):
        flame = server.ask("flame", thread=thread["thread"], by=by)
        check(flame["total"] == mine[total], f"{by}: {flame['total']} and {mine[total]}")
        want, got, entered, seen = (collections.Counter() for _ in range(4))
        for path in mine["paths"]:
            want[calls["functions"][path["function"]]["name"]] += path[own]
            entered[calls["functions"][path["function"]]["name"]] += path["calls"]
        for name, parent, self, below, count in flame["nodes"][1:]:
            check(self <= below and (below >= flame["total"] // 5000), f"a node of {below}")
            check(below <= flame["nodes"][parent][3], "a node is larger than the one above it")
            got[flame["names"][name]["name"]] += self
            seen[flame["names"][name]["name"]] += count
        lost = sum(want.values()) - sum(got.values())
        check(0 <= lost <= flame["pruned"]["total"], f"{by}: {lost} are in no node, {flame['pruned']} are pruned")
        check(want["main"] == got["main"] and entered["main"] == seen["main"], f"{by} of main")
        for name in ("down", "leaf"):  # of their own stacks nothing is small enough to be left out
            of_it = server.ask("flame", thread=thread["thread"], by=by, function=name)
            if of_it["pruned"]["nodes"]:
                continue
            nodes = [n for n in of_it["nodes"][1:] if of_it["names"][n[0]]["name"] == name]
            check(want[name] == sum(n[2] for n in nodes), f"{by} of {name}: {want[name]}, {nodes}")
            check(entered[name] == sum(n[4] for n in nodes), f"calls of {name}: {entered[name]}, {nodes}")
            exact += 1
    check(exact >= 2, f"{exact} functions were compared exactly")
    # Through one function, and its callers.
    inside = server.ask("flame", thread=thread["thread"], function="down")
    callers = server.ask("flame", thread=thread["thread"], function="down", invert=True)
    check(inside["total"] == callers["total"] > 0, f"{inside['total']} in down, {callers['total']} by callers")
    top = {inside["names"][n[0]]["name"] for n in inside["nodes"][1:] if n[1] == 0}
    check(top == {"down"}, top)
    names = [callers["names"][n[0]]["name"] for n in callers["nodes"][1:]]
    check(names[:2] == ["down", "main"], names)


def parts(server, thread):
    """Two halves of a path come to the whole of it."""
    name, end = thread["thread"], thread["instructions"]
    moment = server.ask("calls", function="down")["calls"][5]["moment"]
    tile = tiles(server, name, "instructions", end)
    middle = [s["from"] for row in tile["rows"] for s in row["slices"] if s["moment"] == moment][0]
    halves = [server.ask("flame", thread=name, axis="instructions", **{"from": 0, "to": middle}),
              server.ask("flame", thread=name, axis="instructions", **{"from": middle, "to": end})]
    check(sum(half["total"] for half in halves) == end, f"{[half['total'] for half in halves]} of {end}")
    level, total = server.ask("tree", thread=name), 0
    for child in level["children"]:
        total += child["instructions"]
    check(total <= level["total"]["instructions"] == end, f"{total} below, {level['total']}")
    path = []
    while level["children"] and len(path) < 40:  # the hot path, down to its end
        child = level["children"][0]
        path.append(child["name"])
        check(server.ask("moment", at=child["first"])["thread"] == name, child)
        level = server.ask("tree", thread=name, path=path)
        check(bool(level["children"]) == child["children"], f"children of {path}")
    check(len(path) > 3, path)


# Makes a function three times at one place, and starts a process.
MARKED = r"""
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void busy(void) { for (volatile int i = 0; i < 2000; ++i) {} }
int main(void) {
  unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3};  /* mov eax, 0; ret */
  unsigned char* made = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int sum = 0;
  for (int i = 1; i <= 3; ++i) {
    code[1] = i;
    memcpy(made, code, sizeof code);
    sum += ((int (*)(void))made)();
    busy();
  }
  if (fork() == 0) _exit(0);
  wait(0);
  busy();
  return sum == 6 ? 0 : 1;
}
"""


def case_marks(case):
    """What a recording knows beside the path is marked, in its order, on both axes."""
    data = case.record(case.program(MARKED))
    with case.server(data) as server:
        info = server.ask("info")
        first, child = info["processes"][0], info["processes"][1]
        name, end = first["threads"][0]["thread"], first["threads"][0]["instructions"]
        busy = [one["moment"] for one in server.ask("calls", function="busy")["calls"]]
        ran = [server.ask("moment", at=moment)["ran"] for moment in busy]
        for axis, length in (("instructions", end), ("time", info["duration_ns"])):
            marks = tiles(server, name, axis, length)["marks"]
            code = [one for one in marks if one["kind"] == "code"]
            check(sum(one["count"] for one in code) >= 3, f"versions of the code by {axis}: {code}")
            forks = [one for one in marks if one["kind"] == "fork"]
            check(len(forks) == 1 and str(child["pid"]) in forks[0]["text"], forks)
            check(code[-1]["at"] < forks[0]["at"] or axis == "time", f"the code is made before the process: {code} {forks}")
            if axis == "instructions":
                check(ran[2] <= forks[0]["at"] <= ran[3], f"the process starts between {ran}: {forks}")
        check(not [one for one in tiles(server, child["threads"][0]["thread"], "time", info["duration_ns"])["marks"]
                   if one["kind"] in ("code", "fork", "snapshot")], "marks of the parent on the child's lane")
    snapshot = case.path("snapshot.data")
    subprocess.run([case.args.hodo, "record", "-q", "--source", "dbi", "--snapshot", "-o", snapshot, "--", case.path("program")],
                   capture_output=True, check=False)
    with case.server(snapshot) as server:
        thread = server.ask("info")["processes"][0]["threads"][0]
        marks = tiles(server, thread["thread"], "instructions", thread["instructions"])["marks"]
        check([one["kind"] for one in marks].count("snapshot") == 1, marks)


def case_long(case):
    """A recording with more calls than an overview keeps: whole, and as fine as single calls."""
    data = case.record(case.program(LONG))
    with case.server(data) as server:
        info = server.ask("info")
        check(info["can"]["indexed"], "it has an index")
        thread = info["processes"][0]["threads"][0]
        name, end = thread["thread"], thread["instructions"]
        check(server.told, "progress was told")
        whole = tiles(server, name, "instructions", end)
        walks = case.json("list", "walk", data)["calls"]
        count = sum(s["count"] for row in whole["rows"] for s in row["slices"])
        flame = server.ask("flame", thread=name, by="calls")
        check(count == flame["total"], f"{count} calls in slices, {flame['total']} in paths")
        drawn = {s["moment"]: s for row in whole["rows"] for s in row["slices"]}
        for number in (30, 60, 89):
            one = drawn[walks[number]["moment"]]
            check(one["to"] - one["from"] == walks[number]["instructions"], f"{one} and {walks[number]}")
        # A call that goes over several parts of what is decoded anew is one slice.
        for begin in range(end // 3, end // 3 + 6 * 400_000, 400_000):
            tile = tiles(server, name, "instructions", begin + 400_000, **{"from": begin})
            moments = [s["moment"] for row in tile["rows"] for s in row["slices"]]
            check(len(moments) == len(set(moments)), f"slices that are there twice, at {begin}")
        # One call of walk by itself: each step is a slice.
        for number in (2, 3):
            first = walks[number]
            at = [s for row in whole["rows"] for s in row["slices"] if s["moment"] == first["moment"]]
            begin = at[0]["from"] if at else None
            check(begin is not None, f"walk #{number} is not drawn")
            tile = in_slices(server.ask("tile", thread=name, axis="instructions", width=16384,
                                        **{"from": begin + 1, "to": begin + first["instructions"] - 1}))
            check(not tile["coarse"], "single calls are merged")
            steps = [s for row in tile["rows"] for s in row["slices"]
                     if s["count"] == 1 and tile["names"][s["name"]]["name"] == "step"]
            check(len(steps) == 1000 * number, f"{len(steps)} of {1000 * number} steps")
            scene = server.ask("scene", at=steps[7]["moment"], around=1)
            check(scene["calls"][0]["function"] == "step" and scene["calls"][0]["entered"] == steps[7]["moment"], scene)
            outer = [s for row in tile["rows"] for s in row["slices"] if s["moment"] == first["moment"]][0]
            check(outer["to"] - outer["from"] == first["instructions"], f"{outer}: walk #{number}")
            part = server.ask("flame", thread=name, axis="instructions",
                              **{"from": begin + 1, "to": begin + first["instructions"] - 1})
            calls = sum(n[4] for n in part["nodes"] if n[0] >= 0 and part["names"][n[0]]["name"] == "step")
            check(calls == 1000 * number, f"{calls} steps in the flame graph of walk #{number}")
    with case.server(data) as server:  # from the cache
        again = tiles(server, name, "instructions", end)
        check(again == whole, "the overview that was kept says something else")
        check(server.ask("flame", thread=name, by="calls") == flame, "so do its paths")


def case_cancel(case):
    """Questions that were given up: those that wait, and the one that is being answered."""
    data = case.record(case.program(LONG.replace("150", "100")))
    slow = {"jsonrpc": "2.0", "method": "calls", "params": {"function": "step", "limit": 1}}
    with Server(case.args.hodo, data, "--no-index", cwd=case.work, env=case.env) as server:
        # Both at once: the reader comes to the last word long before so many are answered.
        number = 100
        server.send("\n".join([json.dumps(dict(slow, id=i)) for i in range(number)] +
                              [json.dumps({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": i}})
                               for i in [*range(1, number, 2), number + 5, "1", None]] +
                              [json.dumps({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": i}})
                               for i in range(2, number, 2)]))
        answers = [server.answer() for _ in range(number)]
        check([a["id"] for a in answers] == list(range(number)), "each question has one answer, in their order")
        cancelled = [a for a in answers if "error" in a]
        check(all(a["error"]["code"] == -32800 for a in cancelled), cancelled[:1])
        check(len(cancelled) > number / 2, f"{len(cancelled)} of {number - 1} were cancelled")
        # The one that is being answered, once it says how far it is.
        for attempt in range(number, number + 20):
            server.send(json.dumps(dict(slow, id=attempt)))
            message = server.line()
            while "method" in message and message["params"]["id"] != str(attempt):
                message = server.line()
            if "method" in message:
                server.send(json.dumps({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": attempt}}))
                message = server.answer()
            check(message["id"] == attempt, message)
            if "error" in message:
                break
        check(message.get("error", {}).get("code") == -32800, "it was answered in spite of that")
        # An id that was given up may be used again, and nothing is kept of what was not finished.
        server.send(json.dumps(dict(slow, id=attempt)))
        check(server.answer()["result"] == answers[0]["result"], "the next question with this id")
        check(server.end() == 0, "its status")
    messages = [{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {"name": "calls", "arguments": slow["params"]}}
                for i in range(19)]
    messages += [{"jsonrpc": "2.0", "id": 19, "method": "ping"}]
    messages += [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": i}} for i in range(1, 19)]
    done = subprocess.run([case.args.hodo, "serve", "--mcp", "--no-index", data], input="\n".join(map(json.dumps, messages)),
                          capture_output=True, text=True, env=case.env, check=False, timeout=WAIT)
    told = [json.loads(line)["id"] for line in done.stdout.splitlines()]
    check(told[0] == 0 and told[-1] == 19 and len(told) < 20, f"tools that were given up have answers: {told}")
    for tool, arguments, words in (("code", {"function": "zzzzzzzz"}, "'search' lists those that did"),
                                   ("calls", {"function": "step", "thread": "x"}, "'recording' lists them")):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        done = subprocess.run([case.args.hodo, "serve", "--mcp", data], input=json.dumps(message), capture_output=True,
                              text=True, env=case.env, check=False, timeout=WAIT)
        told = json.loads(done.stdout)["result"]["content"][0]["text"]
        check(words in told and "hodo " not in told, told)


def case_hostile(case):
    """Whatever comes, it answers and goes on."""
    data = case.record(case.program(NESTED))
    with case.server(data) as server:
        def error(line):
            server.send(line)
            return server.answer()["error"]["code"]
        check(error("nonsense") == -32700, "no JSON")
        check(error(b"\xff\xfe\x00{") == -32700, "no text")
        check(error("[" * 100000) == -32700, "nested deeply")
        check(error('{"a":' * 100000) == -32700, "nested deeply")
        check(error('{"jsonrpc":"2.0","id":1,"method":"' + "x" * (5 << 20) + '"}') == -32700, "a long line")
        check(error("[]") == -32600, "an empty batch")
        check(error("[" + ",".join("1" * 2000) + "]") == -32600, "a batch of 2000")
        check(error("1") == -32600, "no object")
        check(error('{"id":1,"method":"info"}') == -32600, "no version")
        check(error('{"jsonrpc":"2.0","id":[1],"method":"info"}') == -32600, "an id that is none")
        check(error('{"jsonrpc":"2.0","id":1,"method":"nosuch"}') == -32601, "no method")
        check(error('{"jsonrpc":"2.0","id":1,"method":"info","params":[1]}') == -32602, "params by position")
        for method, params in (("scene", {}), ("scene", {"at": 1}), ("scene", {"at": "end", "x": 1}),
                               ("scene", {"at": "end", "around": -1}), ("scene", {"at": "end", "around": 1e300}),
                               ("calls", {"function": "leaf", "sort": "no"}), ("tile", {"thread": "1"})):
            check(server.refused(method, **params)["code"] == -32602, f"{method} {params}")
        for method, params in (("scene", {"at": "call:nosuch"}), ("scene", {"at": "\x1b[31m"}),
                               ("tile", {"thread": "x", "from": 0, "to": 1}),
                               ("tile", {"thread": "1", "from": 0, "to": 1}),
                               ("tile", {"thread": "q99999999999", "from": 0, "to": 1}),
                               ("flame", {"thread": "99999999"}),
                               ("flame", {"from": 5, "to": 1}), ("flame", {"axis": "instructions", "from": 1}),
                               ("tree", {"path": ["nosuch"]}), ("code", {}), ("calls", {"function": "lef"}),
                               ("tree", {"pid": 1}), ("flame", {"pid": 1}), ("calls", {"function": "leaf", "thread": "q0"}),
                               ("scene", {"at": "end", "thread": "1"}), ("code", {"function": "leaf", "pid": 1})):
            refused = server.refused(method, **params)
            check(refused["code"] == -32000 and refused["data"]["cause"], f"{method} {params}: {refused}")
            check("\x1b" not in refused["message"], "an escape in a message")
        nobody = server.refused("calls", function="leaf", pid=1)["message"]
        check(nobody.startswith("no process 1 is in the recording; 'report' lists"), nobody)
        both = {"function": "leaf", "address": "0x401136"}
        for method, params in (("code", both), ("graph", both), ("around", {**both, "at": "end", "direction": "next"})):
            told = server.refused(method, **params)["message"]
            check(told.startswith("params need only one of 'function', 'address'") or method == "around", told)
            check("only one of" in told, told)
        # What is said to people who type commands is said in the words of methods.
        for method, params, words in (("code", {"function": "zzzzzzzz"}, "'coverage' lists those that did"),
                                      ("calls", {"function": "leaf", "thread": "x"}, "'info' lists them"),
                                      ("code", {"function": "leaf", "call": "leaf"}, ""),
                                      ("part", {"from": "end", "to": "start"}, "'from'")):
            told = server.reply(method, **params)
            told = told["error"]["message"] if "error" in told else words
            check(words in told and "hodo " not in told and " --" not in told, f"{method} {params}: {told}")
        check(server.ask("flame", thread="") == server.ask("flame"), "a thread that is none")
        server.send('{"jsonrpc":"2.0","method":"info"}')  # nobody wants to know
        server.send('[{"jsonrpc":"2.0","id":"a","method":"progress"},{"jsonrpc":"2.0","method":"info"},7]')
        answers = server.answer()
        check([a.get("id") for a in answers] == ["a", None] and answers[1]["error"]["code"] == -32600, answers)
        server.process.stdin.write(b'{"jsonrpc":"2.0","id":"last","method":"progress"}')  # and no end of line
        server.process.stdin.close()
        check(server.answer()["id"] == "last", "the last line")
        check(server.process.wait(60) == 0, "its status")


def case_memory(case):
    """Questions that take more memory than there is are refused, and all others are answered as ever."""
    data = case.record(case.program(LONG))
    # Without source lines: libdw ends the program where one of its tables cannot grow.
    questions = [("calls", {"function": "step", "limit": 3}), ("report", {}), ("tree", {}), ("findings", {}),
                 ("flame", {}), ("moment", {"at": "end"})]
    with case.server(data) as server:
        expected = [server.ask(method, **params) for method, params in questions]
    refused = answered = 0
    for megabytes in (60, 100, 200, 300):
        limit = megabytes << 20
        with case.server(data, before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))) as server:
            for (method, params), answer in zip(questions, expected):
                reply = server.reply(method, **params)
                if "result" in reply:
                    check(reply["result"] == answer, f"{method} with {megabytes} MB: another answer")
                    answered += 1
                else:
                    check(reply["error"]["data"]["cause"] == "no_space", f"{method}, {megabytes} MB: {reply['error']}")
                    refused += 1
            if megabytes == 200:  # with less, malloc() maps each piece by itself; with more, all fits
                server.send(json.dumps([{"jsonrpc": "2.0", "id": i, "method": "schema"} for i in range(1000)]))
                reply = server.answer()
                whole = isinstance(reply, list) and len(reply) == 1000
                check(whole or reply["error"]["data"]["cause"] == "no_space", f"a batch with {megabytes} MB")
            check(server.end() == 0, "it did not end by itself")
    check(refused and answered, f"{refused} refused, {answered} answered")


def case_documented(case):
    """docs/serve.md names the methods that there are."""
    done = subprocess.run([case.args.hodo, "serve", "--schema"], capture_output=True, text=True, check=True)
    with open(os.path.join(HERE, "..", "..", "docs", "serve.md"), encoding="utf-8") as file:
        page = file.read()
    for method in json.loads(done.stdout)["methods"]:
        row = f"| `{method['name']}` | {method['summary']} |"
        check(row in page, f"docs/serve.md lacks: {row}")


def cases():
    return {name[5:]: f for name, f in globals().items() if name.startswith("case_")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", nargs="?")
    parser.add_argument("--list", action="store_true")
    for option in ("--hodo", "--programs", "--work"):
        parser.add_argument(option)
    args = parser.parse_args()
    if args.list:
        print("\n".join(cases()))
        return 0
    work = os.path.join(args.work, args.case)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    try:
        cases()[args.case](Case(args, work))
    except Failed as failed:
        print(failed)
        return 1
    shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
