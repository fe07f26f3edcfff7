"""Where two runs of one program part and meet again."""

import os
import shutil

from box import PARSE, check, line_of

STRAIGHT = r"""
volatile int sink;
__attribute__((noinline)) static int straight(int n) { return sink + n; }
__attribute__((noinline)) static int odd(int n) {
  if (n & 1) ++sink;  /* LINE parts */
  return sink;
}
int main(void) { return straight(1) + straight(2) + odd(2) + odd(3) == 99; }
"""


def _calls_without_branches(case):
    """A call that goes straight on has a path, too."""
    data = case.record("straight.data", case.program("straight", STRAIGHT, "-O1", "-fno-if-conversion"))
    same = case.json("diff", data, "--call", "straight#1", "--call", "straight#2")["paths"][0]
    check(same["equal"] and same["common"] == 0, same)
    for one, other in (("1", "2"), ("2", "1")):
        pair = case.json("diff", data, "--call", "odd#" + one, "--call", "odd#" + other, status=1)["paths"][0]
        check(sorted((pair["a_branches"], pair["b_branches"])) == [0, 1], pair)
        check(pair["first"]["a"]["at"]["line"] == line_of(STRAIGHT, "parts"), pair["first"])
    tid = case.branches(data)[0]["tid"]
    told = case.hodo("diff", data, "--thread", str(tid), "--thread", "999999999", status=2).stderr
    check("thread 999999999" in told, told)


def case_diff(case):
    """Two runs of one program are alike; one letter later in the input they part at its line."""
    program = case.program("parse", PARSE, "-O1")
    first = case.record("a.data", program, "12a", "7", "b")
    same = case.record("b.data", program, "12a", "7", "b")
    other = case.record("c.data", program, "1a2", "7", "b")
    alike = case.json("diff", first, same)
    check(alike["paths"][0]["equal"] and not alike["differences"], alike)
    parted = case.json("diff", first, other, status=1)["paths"][0]
    parts = line_of(PARSE, "parts")
    for side in ("a", "b"):
        where = parted["first"][side]
        check(where["at"]["line"] == parts and where["calls"][:2] == ["parse", "main"], where)
        check(where["meets"], where)
    check(parted["first"]["a"]["way"] != parted["first"]["b"]["way"], parted)
    for parting in parted["partings"]:
        check(parting["at"]["function"] and parting["side"] in ("a", "b"), parting)
    check(parted["partings"][0]["at"]["line"] == parts, parted["partings"])
    page = case.hodo("diff", first, other, "--format", "html", status=1).stdout
    for word in ("they part at", f"parse.c:{parts}", "sum += letter", "meet again"):
        check(word in page, f"no {word} in the page")
    check("<b>no markup" not in page and "&lt;b&gt;no markup" in page, "text as markup")
    digits = case.record("d.data", program, "12", "7")
    page = case.hodo("diff", first, digits, "--format", "html", status=1).stdout
    check("Only one of them executed" in page and "letter" in page, "what only one executed")
    only = [d["module"] for d in case.json("diff", "--top", "0", first, digits, status=1)["differences"]
            if 0 in (d["a"], d["b"])]
    check(only[0] == "parse" and only == sorted(only, key=lambda module: module != "parse"), only)
    turned = case.record("f.data", program, "1a2", "b", "7")
    text = case.hodo("diff", first, turned, status=1).stdout
    last = case.json("diff", first, turned, status=1)["paths"][0]["partings"][-1]
    row = next((line for line in text.splitlines() if line.startswith(f"  {last['a']} ")), "")
    check(f"{last['at']['function']}+" in row, f"the last parting is not listed with its place: {text}")
    out = case.path("suspects.html")
    case.hodo("diff", "--only-in", other, "--format", "html", "-o", out, "--", first, same, status=None)
    with open(out, encoding="utf-8") as file:
        check("1 failing and 2 passing" in file.read(), "suspects as a page")
    listed = (case.branches(first), case.branches(other))
    for side, branches in zip(("a", "b"), listed):
        number = int(parted["first"][side]["moment"].split(":")[1].split("+")[0])
        check(number >= parted["common"], "the first branches are alike")
        check(branches[number]["kind"] in ("cond", "call", "jmp", "ret"), branches[number])
    calls = case.json("diff", first, "--call", "parse#1", "--call", "parse#3", status=1)
    check(calls["paths"][0]["first"]["a"]["at"]["function"] == "parse", calls)
    only = [d for d in calls["differences"] if d["b"] == 0 and d["kind"] == "function"]
    check([d["function"] for d in only] == ["digit"], only)
    longer = case.record("d.data", program, "12", "7", "b")
    ranked = case.json("diff", "--only-in", longer, "--", first, same, status=None)["suspects"]
    check(all(s["score"] < 1 for s in ranked), ranked)
    none = case.record("e.data", program, "12")
    ranked = case.json("diff", "--only-in", first, same, "--", none, status=1)["suspects"]
    check(any(s.get("function") == "letter" and s["score"] == 1 for s in ranked), ranked)
    _calls_without_branches(case)
    check("passing" in case.hodo("diff", "--only-in", first, status=2).stderr, "failing runs alone")
    case.hodo("diff", first, status=2)
    case.hodo("diff", first, "--call", "parse#1", status=2)
    check("only 3" in case.hodo("diff", first, "--call", "parse#1", "--call", "parse#9",
                                status=2).stderr, "call")
    check("no-such" in case.hodo("diff", first, "no-such", status=2).stderr, "file")


LAZY = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static int work(int n) {
  char text[16];
  snprintf(text, sizeof text, "%d", n);
  return atoi(text);
}
int main(int argc, char** argv) { return work(argc) - work(argc); }
"""


def case_lazily_bound(case):
    """That the loader looks a function up at its first call is no difference."""
    data = case.record("a.data", case.program("lazy", LAZY, "-O1", "-fno-builtin", "-Wl,-z,lazy"))
    work = [c for c in case.json("list", "work", data, status=None)["calls"] if c["instructions"]]
    check(len(work) == 2 and work[0]["instructions"] > 2 * work[1]["instructions"], work)
    calls = case.json("diff", data, "--call", "work#1", "--call", "work#2", status=1)
    check(calls["paths"][0]["equal"], calls["paths"][0])


ADDED = r"""
#define HERE __attribute__((noinline, noclone))
static volatile int sum;
HERE static void add(int n) { sum = sum + n; }
static inline int half(int n) { return n / 2; }
#ifdef EXTRA
HERE static void extra(int n) { sum = sum - n; }
#endif
HERE static void step(int n) {
  add(half(n));
#ifdef EXTRA
  extra(n);                                                /* LINE added */
#endif
#ifdef AGAIN
  add(n);                                                  /* LINE again */
#endif
}
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) step(argv[i][0]);
  return 0;
}
"""


def case_added(case):
    """A call that only one of two builds makes is a difference where both were compiled alike, not where one may inline it."""
    def record(name, *flags):
        os.makedirs(case.path(name), exist_ok=True)
        return case.record(name + ".data", case.program(name + "/added", ADDED, *flags), "6", "7")

    for level in ("-O0", "-O2"):
        plain = record("plain" + level, level)
        for change, line in (("EXTRA", "added"), ("AGAIN", "again")):
            changed = record(change + level, level, "-D" + change)
            for one, other, side in ((plain, changed, "b"), (changed, plain, "a")):
                parted = case.json("diff", one, other, status=1)["paths"][0]["first"][side]["at"]
                check(parted["function"] == "step" and parted["line"] == line_of(ADDED, line), f"{level} {change}: {parted}")
        bare = record("bare" + level, level, "-g0", "-DEXTRA")
        check(case.json("diff", plain, bare, status=None)["paths"][0]["equal"], "nothing says how it was compiled")
    alike = case.json("diff", case.path("plain-O0.data"), case.path("plain-O2.data"), status=None)
    check(alike["paths"][0]["equal"], alike["paths"])


def case_only_in(case):
    """What tells failing from passing runs is ranked as the coefficient of Ochiai of each run's coverage has it."""
    program = case.program("parse", PARSE, "-O1")
    arguments = {"fail1": ("a1", "2"), "fail2": ("b", "7"), "fail3": ("c",), "pass1": ("1", "2"), "pass2": ("b7",),
                 "pass3": ("12",), "pass4": ("",), "pass5": ("999", "9"), "pass6": ("4", ""), "pass7": ("5", "6", "7")}
    ran = {}
    for run, words in arguments.items():
        case.record(run, program, *words)
        (module,) = [m for m in case.json("coverage", run)["modules"] if m["path"] == program]
        ran[run] = {f["name"] for f in module["functions"] if f["blocks_hit"]}
    failing, passing = ([run for run in arguments if run.startswith(kind)] for kind in ("fail", "pass"))
    want = {}
    for name in set().union(*ran.values()):
        bad, good = (sum(name in ran[run] for run in runs) for runs in (failing, passing))
        if bad and (bad, good) != (len(failing), len(passing)):
            want[name] = (bad, good, round(bad / (len(failing) * (bad + good)) ** 0.5, 9))
    check({"letter", "digit"} <= set(want), want)
    suspects = case.json("diff", "--top", "0", "--only-in", *failing, "--", *passing, status=None)["suspects"]
    scores = [s["score"] for s in suspects]
    check(scores == sorted(scores, reverse=True), "the most suspicious first")
    got = {s["function"]: (s["failing"], s["passing"], round(s["score"], 9))
           for s in suspects if s["kind"] == "function" and s["module"] == "parse"}
    check(got == want, f"{got} {want}")
    lines = {s["line"]: s["failing"] for s in suspects if s["kind"] == "line" and s.get("file") == "parse.c"}
    check(lines.get(next(n for n, text in enumerate(PARSE.splitlines(), 1) if "sum += letter" in text)) == 3, lines)
    case.hodo("diff", "--only-in", "fail1", "none", "--", "pass1", status=2)
    told = case.hodo("diff", "--only-in", "fail1", "--top", "0", "--", "pass1", "--json", status=2).stderr
    check("'--json' stands behind --" in told, told)
    cut = case.path("cut")
    shutil.copy(case.path("pass1"), cut)
    os.truncate(cut, os.path.getsize(cut) * 2 // 3)
    told = case.hodo("diff", "--only-in", "fail1", "--", cut, status=None)
    check("lost" in told.stderr, told.stderr)
