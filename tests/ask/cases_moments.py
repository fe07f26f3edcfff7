"""Moments: the same as a plain decode from the beginning, with and without an index; shown, and as the ends of windows."""

import json
import os
import shutil
import subprocess

from box import PARSE, check, line_of

# Program, source, options of the recorder: those whose paths are hard to follow.
MOMENTS = {
    "moments_dbi_threads": ("threads", "dbi"),
    "moments_dbi_signals": ("signals", "dbi"),
    "moments_dbi_longjmp": ("longjmp", "dbi"),
    "moments_dbi_exceptions": ("exceptions", "dbi"),
    "moments_dbi_exec": ("exec_chain", "dbi"),
    "moments_dbi_jit": ("jit", "dbi"),
    "moments_dbi_made_calls": ("made_calls", "dbi"),
    "moments_dbi_fork": ("fork_wait", "dbi"),
    "moments_qemu_signals": ("signals", "qemu"),
    "moments_bts_longjmp": ("longjmp", "bts"),
    "moments_lbr_hello": ("hello", "lbr"),
    "moments_step_hello": ("hello_static", "step"),
    "moments_dbi_filter": ("longjmp", "dbi", "--filter", "leap@{program}"),
    "moments_dbi_snapshot": ("threads", "dbi", "--snapshot"),
}


def moments(case, program, source, *options):
    pt = source in ("dbi", "qemu")
    program = os.path.join(case.args.programs, program)
    options = [*(("--psb-period", "2048") if pt else ()), *(word.format(program=program) for word in options)]
    data = case.record("a.data", program, source=source, options=options)
    # What is lost is lost in both: code made at run time that the recording does not have.
    if source == "dbi" and "--snapshot" not in options:
        case.hodo("stats", data)
    # With an index, also of few segments.
    check_moments(case, data, ([], ["1"], [str(1 << 20)]) if pt else ([], ))


def check_moments(case, data, spacings):
    for spacing in spacings:
        done = subprocess.run([case.args.moments, data, "60", "7", *spacing], capture_output=True, text=True,
                              check=False)
        check(done.returncode == 0, done.stdout + done.stderr)
        print(done.stdout.strip())


LONG = r"""
#include <stdint.h>
static uint64_t state = 88172645463325252u;
static int up(void) { return 3; }
static int down(void) { return -2; }
static int (*const volatile steps[])(void) = {up, down};  /* of calls through pointers a trace is full soonest */
__attribute__((noinline)) static int step(void) {
  state ^= state << 13; state ^= state >> 7; state ^= state << 17;
  return steps[state & 1]();
}
__attribute__((noinline)) static int walk(int n) {
  int at = 0;
  while (n-- > 0) at += step();
  return at;
}
int main(void) {
  int sum = 0;
  for (int i = 0; i < 140; ++i) sum += walk(i * 112);
  return sum == 1;
}
"""


def case_index(case):
    """Of a long recording the answers are the same with an index: made, kept, spoilt, cut off."""
    data = case.record("long.data", case.program("long", LONG, "-O1"))
    check(os.path.getsize(data) > (4 << 20), "long enough for an index")
    home = case.path("cache")
    os.mkdir(home, 0o700)
    env = {**os.environ, "XDG_CACHE_HOME": home}
    folder = os.path.join(home, "hodoscope", "recordings")

    def answers(*options, lists=False):
        out = []
        for moment in ("end", f"{tid}:1000000", f"time:{middle}"):
            scene = json.loads(case.hodo("show", moment, data, "--json", *options, env=env).stdout)
            out.append(scene)
        for command in (["list", "walk", "--json"], ["branches", "--call", "walk#5"],
                        ["calls", "--from", f"{tid}:900000", "--to", f"{tid}:901000"], ["crash"]) if lists else ():
            out.append(case.hodo(*command, data, *options, env=env).stdout)
        return out

    end = json.loads(case.hodo("show", "end", data, "--json", "--no-index", env=env).stdout)
    check(not os.path.exists(folder), "--no-index makes none")
    tid = end["tid"]
    first = json.loads(case.hodo("show", "start", data, "--json", "--no-index", env=env).stdout)
    middle = (end["time"] + (first["time"] or end["time"])) // 2
    check(answers(lists=True) == answers("--no-index", lists=True), "an index that was just made")
    plain = answers("--no-index")
    paths = [os.path.join(folder, name) for name in os.listdir(folder)]
    _, rows, path = sorted(paths, key=os.path.getsize)
    check(sum(map(os.path.getsize, paths)) < os.path.getsize(data) / 10 + (1 << 20), "its size")
    made, kept = os.stat(path).st_ino, os.stat(rows).st_ino
    check(answers() == plain, "an index that was kept")
    check(os.stat(path).st_ino == made, "it was not made anew")
    check(answers(lists=True) == answers("--no-index", lists=True), "rows that were kept")
    check(os.stat(rows).st_ino == kept, "they were not made anew")
    for one in paths:
        with open(one, "r+b") as file:
            file.seek(os.path.getsize(one) // 2)
            file.write(b"spoilt")
    check(answers(lists=True) == answers("--no-index", lists=True), "an index that is damaged")
    check(os.stat(rows).st_ino != kept, "rows were made anew")
    check(os.stat(path).st_ino != made, "it was made anew")
    os.truncate(path, os.path.getsize(path) // 2)
    check(answers() == plain, "an index that is cut off")
    os.utime(data)
    check(answers() == plain and len(os.listdir(folder)) == 6, "of another recording")


def case_show(case):
    """What `hodo show` says is what `hodo branches` lists there, and every way to write a moment."""
    data = case.record("a.data", case.program("parse", PARSE, "-O1"), "12a", "7", "b")
    listed = case.branches(data)
    tid = listed[0]["tid"]
    for number in (1, len(listed) // 2, len(listed) - 1):
        scene = case.json("show", f"{tid}:{number}", data)
        for branch, want in ((scene["before"][-1], listed[number - 1]),
                             (scene["after"][0], listed[number])):
            got = {side: branch[side]["address"] for side in ("from", "to") if branch[side]}
            check(got == {s: want[s] for s in ("from", "to") if s in want}, f"{number}: {branch} {want}")
            check(branch["kind"] == want["kind"], f"{number}: {branch} {want}")
        check(scene["time"] == listed[number - 1]["time"], "time")
    third = case.json("show", "call:parse#3", data)
    check([call["function"] for call in third["calls"]][:2] == ["parse", "main"], third["calls"])
    check(third["stands_at"]["function"] == "parse" and third["stands_at"]["offset"] == 0, third)
    letter = case.json("show", "call:letter#2", data)
    check(letter["moment"] == case.json("show", third["moment"], data, "--next", "letter")["moment"],
          "--next")
    parts = line_of(PARSE, "parts")
    lines = [case.json("show", f"line:parse.c:{parts}#{n}", data) for n in (1, 2, 5)]
    check(all(scene["stands_at"]["line"] == parts for scene in lines), lines)
    out = case.json("show", letter["moment"], data, "--step", "out")
    check(out["stands_at"]["function"] == "parse", out)
    back = case.json("show", out["moment"], data, "--step=-insn", "--step=insn")
    check(back["moment"] == out["moment"], "back and forth")
    called = case.json("show", letter["moment"], data, "--step=-out")
    check(called["instruction"].startswith("call"), called)
    check(case.json("show", f"time:{out['time']}", data)["time"] == out["time"], "time:")
    check(case.json("show", "end", data)["after"][-1]["number"] == len(listed), "end")
    for words, says in ((("call:prase", ), "'parse'"), (("call:parse#4", ), "only 3"),
                        (("line:parse.c:1", ), "nearest line is"), ((f"{tid}:99999999", ), "branches"),
                        (("1:1", ), str(tid)), (("crash", ), "no process"), (("what", ), "THREAD:BRANCH"),
                        (("line:pars.c:3", ), "'parse.c'"), (("call:nothing!parse", ), "no call")):
        done = case.hodo("show", *words, data, status=2)
        check(says in done.stderr, done.stderr)
    for moment, step, says in (("end", "out", "none behind"), ("start", "-insn", "none before")):
        done = case.hodo("show", moment, f"--step={step}", data, status=2)
        check(f"the thread's path has {says}" in done.stderr, done.stderr)


def case_sources_elsewhere(case):
    """Sources that were compiled elsewhere, or under other names, are found where --substitute-path says."""
    parts = line_of(PARSE, "parts")
    text = PARSE.splitlines()[parts - 1]
    compiled, moved = case.path("compiled"), case.path("moved/p")
    source = os.path.join(moved, "parse.c")
    for name, rule in (("/build/p", f"/build/={case.path('moved')}"), (".", f".={moved}/")):
        os.makedirs(compiled)
        case.program("compiled/parse", PARSE)
        subprocess.run(["gcc", "-g", "-O1", f"-ffile-prefix-map={compiled}={name}", "parse.c", "-o", "../prog"],
                       cwd=compiled, check=True)
        data = case.record("a.data", case.path("prog"), "12a")
        os.makedirs(case.path("moved"), exist_ok=True)
        os.rename(compiled, moved)
        for words in (("show", f"line:parse.c:{parts}"), ("annotate", "parse")):
            told = case.hodo(*words, data).stdout
            check("parse.c is not here; --substitute-path FROM=TO" in told and text.strip() not in told, told)
            told = case.hodo(*words, data, "--substitute-path", "/buil=/", "--substitute-path", rule, "--substitute-path",
                             "/=/nowhere").stdout
            check("not here" not in told and text.strip() in told, f"{name}: {words}: {told}")
        found = case.json("show", f"line:parse.c:{parts}", data, "--substitute-path", rule)["source"]
        check(found["file"] == source and {"line": parts, "text": text, "ran": True} in found["lines"], found)
        lcov = case.hodo("coverage", "--format", "lcov", data, "--substitute-path", rule).stdout
        check(f"SF:{source}\n" in lcov, lcov)
        shutil.rmtree(moved)
    for rule in ("", "=", "x", "x=", "=x"):
        told = case.hodo("show", "end", data, "--substitute-path", rule, status=2).stderr
        check(f"--substitute-path '{rule}' is not written FROM=TO" in told, told)


def case_newer_than_what_lies_elsewhere(case):
    """Of a program under --symfs it is that file which its sources may be newer than."""
    program = case.program("parse", PARSE, "-O1", "-static")  # nothing else lies below root
    data, source, root = case.record("a.data", program, "12a"), program + ".c", case.path("root")
    there = root + program
    os.makedirs(os.path.dirname(there))
    os.rename(program, there)
    where = f"line:parse.c:{line_of(PARSE, 'parts')}"
    for seconds in (10, -10):
        time = os.stat(there).st_mtime + seconds
        os.utime(source, (time, time))
        for words in (("show", where), ("annotate", "parse")):
            told = case.hodo(*words, data, "--symfs", root).stdout
            check((f"{source} is newer than parse: its lines may be others now" in told) == (seconds > 0), told)
        check(case.json("show", where, data, "--symfs", root)["source"]["newer"] == (seconds > 0), "show --json")
        ask = "\n".join(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "code", "params": what})
                        for what in ({"function": "parse"}, {"file": source}))
        for line in case.hodo("serve", data, "--symfs", root, feed=ask).stdout.splitlines():
            shown, = json.loads(line)["result"]["source"]
            check(shown["newer"] == (seconds > 0), line[:2000])


def case_split_debug_information(case):
    """Lines of a program whose debug information lies in another file are known, and that a file is gone is said."""
    program = case.program("parse", PARSE, "-O1", "-gsplit-dwarf")
    data = case.record("a.data", program, "12a")
    at = case.json("show", "call:parse", data)["calls"][0]["at"]
    check(PARSE.splitlines()[at["line"] - 1].endswith("parse(const char* text) {"), at)
    os.unlink(program)
    for words in (("list", "parse"), ("show", "call:parse#2"), ("coverage", "--function", "parse"),
                  ("show", "end", "--previous", "parse"), ("annotate", "parse")):
        said = case.hodo(*words, data, status=2).stderr
        check("lost (file-missing)" in said, said)


def case_windows(case):
    data = case.record("a.data", case.program("parse", PARSE, "-O1"), "12a", "7", "b")
    listed = case.branches(data)
    tid = listed[0]["tid"]

    def window(*words):
        out = case.hodo("branches", "--format", "jsonl", data, *words).stdout.splitlines()
        return [json.loads(line) for line in out]

    check(window("--from", f"{tid}:10", "--to", f"{tid}:20") == listed[10:20], "--from --to")
    check(window("--last", "7") == listed[-7:], "--last")
    check(window("--at", f"{tid}:100", "--around", "5") == listed[95:105], "--around")
    times = [b["time"] for b in listed]
    middle = times[len(times) // 2]
    check(window("--from", f"time:{middle}") == [b for b in listed if b["time"] >= middle], "time")
    calls = case.json("list", "parse", data)["calls"]
    inside = window("--function", "parse")
    want = [b for call in calls for b in
            listed[int(call["moment"].split(":")[1]) - 1:int(call["until"].split(":")[1])]]
    check(inside == want, "--function")
    check(window("--thread", str(tid)) == listed, "--thread")
    for module, says in (("nothing", "what ran is '"), ("prase", "did you mean 'parse'?"),
                         ("libd.so.6", "did you mean 'libc'"), ("/lib/nowhere/lbc.so", "did you mean 'libc'")):
        told = case.hodo("coverage", data, "--module", module, status=2).stderr
        check(f"no code of a module '{module}' ran" in told and says in told, told)
    for command in ("branches", "calls", "coverage", "report", "check", "stats"):
        for nobody in ("--thread", "--process"):
            told = case.hodo(command, data, nobody, "1", status=2).stderr
            check("'hodo report' lists those that are" in told and "makes one" not in told, told)
    check(all("parse" in line for line in case.hodo(
        "branches", data, "--module", case.path("parse")).stdout.splitlines()), "--module")
    part = case.json("report", data, "--from", calls[0]["moment"], "--to", calls[0]["until"])
    check(part["instructions"] == calls[0]["instructions"] if "instructions" in part else True, part)
    covered = case.hodo("coverage", data, "--from", calls[1]["moment"], "--to", calls[1]["until"]).stdout
    check("digit" in covered and "letter" not in covered, covered)
    tree = case.hodo("calls", data, "--function", "parse", "--min-percent", "0").stdout
    check("letter" in tree and "_dl_" not in tree, tree)
    case.hodo("check", data, "--from", calls[1]["moment"])
    for words in (("--around", "3"), ("--last", "3", "--at", "crash"), ("--from", "x"),
                  ("--from", "end", "--to", "start"), ("--at", "1:5"), ("--from", "q7:5"), ("--function", "prase"), ("--module", "nothing")):
        case.hodo("branches", data, *words, status=2)


GOROUTINE = r"""
/* What Go's scheduler does to begin a goroutine. */
__asm__(".text\n.type runtime.gogo.abi0,@function\nruntime.gogo.abi0: jmp gogo\n.size runtime.gogo.abi0,.-runtime.gogo.abi0\n"
        ".type gogo,@function\ngogo: jmp *%rdi\n.size gogo,.-gogo\n");
void gogo(void (*first)(void)) __asm__("runtime.gogo.abi0");
void schedule(void (*first)(void)) __asm__("runtime.schedule");
volatile int sink;
__attribute__((noinline)) void inner(void) { ++sink; }
__attribute__((noinline)) void goroutine(void) { inner(); inner(); }
__attribute__((noinline)) void schedule(void (*first)(void)) { gogo(first); ++sink; }
int main(void) { schedule(goroutine); inner(); return 0; }
"""


def case_goroutine(case):
    """A goroutine's open calls end with its first function, as its stack does."""
    data = case.record("a.data", case.program("goroutine", GOROUTINE, "-O1", "-fno-optimize-sibling-calls"))
    for moment, want in (("call:inner#1", ["inner", "goroutine"]), ("call:goroutine#1", ["goroutine"]),
                         ("call:runtime.schedule#1", ["runtime.schedule", "main"]), ("call:inner#3", ["inner", "main"])):
        calls = [call["function"] for call in case.json("show", moment, data)["calls"]]
        check(calls[:2] == want if len(want) == 2 and want[1] == "main" else calls == want, f"{moment}: {calls}")


COROUTINES = r"""
#include <stdlib.h>
/* Goes on where `to` was left; here once somebody does the same with what was put to `from`. By a return, or a jump. */
#define SWITCH(name, go) \
  void name(void** from, void* to); \
  __asm__(".text\n.type " #name ",@function\n" #name ": push %rbp\npush %rbx\npush %r12\nmov %rsp,(%rdi)\nmov %rsi,%rsp\n" \
          "pop %r12\npop %rbx\npop %rbp\n" go "\n.size " #name ",.-" #name "\n")
SWITCH(by_return, "ret");
SWITCH(by_jump, "pop %rcx\njmp *%rcx");
static void *made, *mine;
static int given;
static void (*change)(void**, void*);
__attribute__((noinline)) void gives(void) { for (int i = 0;; ++i) { given = i; change(&made, mine); } }
__attribute__((noinline)) int takes(int n) { int sum = 0; while (n-- > 0) { change(&mine, made); sum += given; } return sum; }
int main(int argc, char** argv) {
  void** stack = (void**)malloc(65536) + 8000;
  change = argc > 1 ? by_jump : by_return;
  stack[3] = (void*)gives;
  made = stack;
  return takes(20) + takes(20) == 780 ? 0 : 1;
}
"""


def case_coroutines(case):
    """Where a coroutine goes on no call of it begins."""
    program = case.program("coroutines", COROUTINES, "-O1", "-fno-optimize-sibling-calls")
    for name, arguments in (("by_return", ()), ("by_jump", ("jump", ))):
        data = case.record(name + ".data", program, *arguments, options=("--psb-period", "2048"))
        check_moments(case, data, ([], ["1"]))
        for index in ((), ("--no-index", )):
            for function, count in (("gives", 1), ("takes", 2), ("main", 1), (name, 80)):
                listed = case.json("list", function, data, *index)["calls"]
                check(len(listed) == count, f"{name} {index} {function}: {len(listed)}")
                for call in listed[:2]:
                    written = f"call:{function}#{call['number']}"
                    check(case.json("show", written, data, *index)["moment"] == call["moment"], written)


SELF = r"""
static int sum(int n) { return n <= 0 ? 0 : n + sum(n - 1); } /* LINE sums */
int main(void) {
  int all = 0;
  for (int i = 0; i < 4; ++i) all += sum(i); /* LINE all */
  return all != 10;
}
"""


def case_line_that_calls_itself(case):
    """Each call of a function of one line is an execution of the line; coming back to it is none."""
    data = case.record("self.data", case.program("self", SELF, "-O0"))
    line = f"line:self.c:{line_of(SELF, 'sums')}"
    calls = [c["moment"] for c in case.json("list", "sum", data)["calls"]]
    check(len(calls) == 1 + 2 + 3 + 4, calls)
    moments = [case.json("show", f"{line}#{n}", data)["moment"] for n in range(1, len(calls) + 1)]
    check(moments == calls, (moments, calls))
    check("only 10" in case.hodo("show", line + "#11", data, status=2).stderr, "11")


BEHIND = r"""
static volatile int n;
__attribute__((noipa)) static void adds(void) { ++n; }
__attribute__((noipa)) static void several(void) {
  adds();  // LINE first
  adds();  // LINE second
  n *= 2;  // LINE behind
}
int main(void) {
  for (int i = 0; i < 3; ++i) several();
  return n == 0;
}
"""


def case_line_behind_a_call(case):
    """A line that a call returns to the beginning of is executed, too: the call was another line's."""
    data = case.record("behind.data", case.program("behind", BEHIND, "-O0"))
    calls = [c["moment"] for c in case.json("list", "several", data)["calls"]]
    for word in ("first", "second", "behind"):
        place = f"behind.c:{line_of(BEHIND, word)}"
        moments = [case.json("show", f"line:{place}#{n}", data) for n in (1, 2, 3)]
        check(all(m["stands_at"]["line"] == line_of(BEHIND, word) for m in moments), moments)
        check("only 3" in case.hodo("show", f"line:{place}#4", data, status=2).stderr, word)
        found = [case.json("show", call, "--next", place, data)["moment"] for call in calls]
        check([m["moment"] for m in moments] == found, (word, moments, found))


ANY_BYTES = r"""
__attribute__((noinline)) int odd(int x) __asm__("na\xefve");
int odd(int x) { return x * 3; }   /* LINE odd */
int main(int argc, char** argv) { (void)argv; return odd(argc) == 0; }
"""


def case_any_bytes(case):
    """Names that are no text: what JSON says of them is JSON, and finds them."""
    source, program = os.fsencode(case.path("caf")) + b"\xe9.c", os.fsencode(case.path("pr")) + b"\xf6g"
    with open(source, "w", encoding="utf-8") as file:
        file.write(ANY_BYTES)
    subprocess.run([b"gcc", b"-g", source, b"-o", program], check=True)
    data = case.record("a.data", program)
    name, line = r"na\xefve", line_of(ANY_BYTES, "odd")
    here = case.json("show", f"call:{name}", data)
    call, stands = here["calls"][0], here["stands_at"]
    check(call["function"] == name, f"the call is {call}")
    check(os.path.basename(stands["file"]) == r"caf\xe9.c", f"its file is {stands}")
    moments = {here["moment"]}
    for what in (f"call:{call['function']}", f"at:{name}", rf"call:pr\xf6g!{name}", "line:{file}:{line}".format(**stands)):
        moments.add(case.json("show", what, data)["moment"])
    check(len(moments) == 1 and stands["line"] == line, f"{moments}, {stands}")
    check(case.json("annotate", name, data)["function"] == name, "annotate")
    modules = case.json("coverage", "--module", r"pr\xf6g", data)["modules"]
    check([os.path.basename(m["path"]) for m in modules if m["functions"]] == [r"pr\xf6g"], "a module")
    questions = [{"jsonrpc": "2.0", "id": 1, "method": "search", "params": {"text": r"A\xefV"}},
                 {"jsonrpc": "2.0", "id": 2, "method": "calls", "params": {"function": name}}]
    said = [json.loads(line) for line in
            case.hodo("serve", data, feed="".join(json.dumps(q) + "\n" for q in questions)).stdout.splitlines()]
    answers = {one["id"]: one["result"] for one in said if "id" in one}
    check(answers[1]["found"][0]["function"] == name and len(answers[2]["calls"]) == 1, f"{answers}")
