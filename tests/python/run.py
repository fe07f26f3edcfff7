#!/usr/bin/python3
"""Holds the Python package against what the commands say of the same recordings.

    run.py CASE --hodo HODO --build DIR --work DIR      with PYTHONPATH as the package is built
    run.py --list

A case is a function below. Exit status 77: skipped, since its recorder does not work here.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static int leaf(int n) { volatile int a = n; return a * 3; }
__attribute__((noinline)) static int down(int n) { return n == 0 ? leaf(n) : down(n - 1) + leaf(n); }
static void* other(void* rounds) {
  int sum = 0;
  for (int i = 0; i < *(int*)rounds; ++i) sum += down(i % 100);
  return (void*)(long)sum;
}
int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 12;
  pthread_t thread;
  void* sum;
  pthread_create(&thread, 0, other, &rounds);
  pthread_join(thread, &sum);
  printf("%ld\n", (long)sum + (long)other(&rounds));
  if (rounds != 12) return 0;
  *(volatile int*)(argc - 1L) = 1;   /* dies here */
  return 0;
}
"""


class Failed(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failed(what)


class Case:
    def __init__(self, args, work):
        self.args, self.work = args, work
        os.environ["XDG_CACHE_HOME"] = os.path.join(work, "cache")
        os.makedirs(os.environ["XDG_CACHE_HOME"])
        os.chdir(work)

    def hodo(self, *words):
        return subprocess.run([self.args.hodo, *words], capture_output=True, check=False)

    def json(self, *words):
        return json.loads(self.hodo(*words, "--json").stdout)

    def record(self, name, *arguments):
        if not os.path.exists("program"):
            with open("program.c", "w", encoding="utf-8") as file:
                file.write(PROGRAM)
            subprocess.run(["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "program.c", "-o", "program"], check=True)
        done = self.hodo("record", "--source", "dbi", "-o", name, "--", "./program", *arguments)
        if not os.path.exists(name):
            print(f"skipped: the engine does not record here: {done.stderr.decode().strip()}")
            sys.exit(77)
        return name


def case_branches(case):
    """Rows are those of `hodo branches --format bin`, in whatever blocks; numbers are those of moments."""
    data = case.record("a.data")
    fields = [(name, hodoscope.BRANCH_DTYPE[name]) for name in hodoscope.BRANCH_DTYPE.names[:10]]

    def listed(*words):
        return np.frombuffer(case.hodo("branches", "--format", "bin", data, *words).stdout[16:], dtype=fields)

    with hodoscope.open(data) as recording:
        threads = [thread.id for thread in recording.processes()[0].threads]
        check(len(threads) == 2, threads)
        for how, words in [
                ({}, []), ({"not_taken": True}, ["--not-taken"]), ({"thread": threads[1]}, ["--tid", threads[1]]),
                ({"last": 7}, ["--last", "7"]), ({"call": "down#3"}, ["--call", "down#3"]),
                ({"function": "leaf"}, ["--function", "leaf"]), ({"module": "libc.so"}, ["--module", "libc.so"]),
                ({"at": "call:down#2", "around": 5}, ["--at", "call:down#2", "--around", "5"]),
                ({"from_": "call:down#2", "to": "call:down#4"}, ["--from", "call:down#2", "--to", "call:down#4"])]:
            want = listed(*words)
            check(len(want) > 0, words)
            for block in (100, 65536):
                blocks = list(recording.branches(block=block, **how))
                check(all(len(one) <= block for one in blocks), f"blocks of {[len(one) for one in blocks]}")
                got = np.concatenate(blocks)
                check(len(got) == len(want), f"{how}: {len(got)} branches, and not {len(want)}")
                for name, _ in fields:
                    check((got[name] == want[name]).all(), f"{how}: {name} differs")
        whole = recording.branches().all()
        for row in (whole[10], whole[-3]):
            scene = case.json("show", f"{row['tid']}:{row['number']}", data)
            check(int(scene["before"][-1]["from"]["address"], 16) == row["from"], f"{row} is not where {scene['before'][-1]} is")
        some = recording.branches(function="leaf", block=7).all()
        by_number = {(row["tid"], row["number"]): row["from"] for row in whole}
        check(all(by_number[row["tid"], row["number"]] == row["from"] for row in some), "numbers in a window")
        executed = int(recording.branches(not_taken=True).all()["insns"].sum())
        check(executed == recording.stats()["instructions"], f"{executed} instructions")
        blocks = recording.branches(block=1)
        next(blocks)
        check(blocks.losses is None, "losses before the end")
        blocks.close()
        check(len(recording.branches(last=3).all()) == 6, "a closed iterator is in the way")


def case_calls(case):
    """Calls are those of `hodo list`, with how they ended."""
    data = case.record("a.data")
    with hodoscope.open(data) as recording:
        blocks = recording.calls(block=50)
        rows = blocks.all()
        functions = blocks.functions()
        check(blocks.losses == [], blocks.losses)
        for name in ("leaf", "down", "main", "other"):
            numbers = [i for i, function in enumerate(functions) if function.name == name]
            mine = rows[np.isin(rows["function"], numbers)]
            got = sorted((f"{row['tid']}:{row['at']}", f"{row['tid']}:{row['until']}", int(row["instructions"]),
                          hodoscope.OUTCOMES[row["outcome"]], int(row["duration"])) for row in mine)
            want = sorted((call["moment"], call["until"], call["instructions"], call["outcome"], call["duration"] or 0)
                          for call in case.json("list", name, data)["calls"])
            check(got == want and got, f"{name}: {got[:3]} and not {want[:3]}")
            callers = {functions[row["caller"]].name for row in mine if row["caller"] != hodoscope.NOBODY}
            check(callers == {"leaf": {"down"}, "down": {"down", "other"}}.get(name, callers), callers)


def case_answers(case):
    """What a command answers, too, is what it says; and errors have its words."""
    data, second = case.record("a.data"), case.record("b.data", "13")
    with hodoscope.open(data) as recording:
        pairs = [(recording.stats(), ["stats", data]), (recording.report(), ["report", data]),
                 (recording.coverage(), ["coverage", data]), (recording.findings(), ["check", data]),
                 (recording.crash(), ["crash", data]), (recording.list("leaf"), ["list", "leaf", data]),
                 (recording.moment("crash").scene(), ["show", "crash", data]),
                 (recording.diff(second), ["diff", data, second])]
        for got, words in pairs:
            want = case.json(*words)
            check(got == want, f"hodo {words[0]}: {str(got)[:500]}\nand not {str(want)[:500]}")
        process = recording.processes()[0]
        check(process.name == "program" and "SIGSEGV" in process.end, process)
        crash = recording.moment("crash")
        check(crash.source_line.endswith(f"program.c:{PROGRAM[:PROGRAM.index('dies here')].count(chr(10)) + 1}"), crash.source_line)
        check(crash.open_calls[0]["function"] == "main", crash.open_calls)
        with hodoscope.open(data, substitute_path=[f"{os.getcwd()}=/elsewhere"]) as moved:
            check(moved.moment("crash").source_line.startswith("/elsewhere/program.c:"), moved.moment("crash").source_line)
        here = recording.moment("call:down#3")
        check(here.step("insn", "-insn") == here and here.step("insn") != here, "steps")
        check(str(here.next("leaf")) == case.json("show", str(here), data, "--next", "leaf")["moment"], "next")
        check(all(one["blocks_hit"] > 0 for one in recording.functions()), "functions that ran, and no others")
        check(any(one["name"] == "leaf" and one["entered"] == 156 for one in recording.functions("program")),
              "leaf is not among the functions")
        check(recording.losses() == [], recording.losses())
        for call, words in [(lambda: recording.list("laef"), ["list", "laef", data]),
                            (lambda: recording.moment("call:leaf#10000"), ["show", "call:leaf#10000", data]),
                            (lambda: recording.moment("nonsense"), ["show", "nonsense", data]),
                            (lambda: recording.branches(function="laef").all(), ["branches", "--function", "laef", data]),
                            (lambda: recording.branches(thread=999999999).all(), ["branches", "--tid", "999999999", data]),
                            (lambda: recording.calls(pid=999999999).all(), ["branches", "--pid", "999999999", data]),
                            (lambda: hodoscope.open("none.data"), ["stats", "none.data"]),
                            (lambda: hodoscope.open("program.c"), ["stats", "program.c"])]:
            try:
                call()
                raise Failed(f"{words} was answered")
            except hodoscope.Error as error:
                said = case.hodo(*words).stderr.decode().strip().split("\n")[-1]
                check(said == f"hodo: {error}", f"{error!r}, and the command: {said}")
                check(error.cause in ("not_found", "usage", "malformed", "unsupported"), error.cause)
    try:
        hodoscope.open(data, substitute_path=["no rule"])
        raise Failed("a rule that is none was taken")
    except hodoscope.Error as error:
        check(error.cause == "usage" and "FROM=TO" in str(error), error)
    try:
        recording.stats()
        raise Failed("a closed recording was asked")
    except ValueError:
        pass
    for bad in ({"block": 0}, {"block": 1 << 30}, {"block": 1 << 70}, {"thread": "x"}, {"pid": -5}, {"pid": 1 << 40},
                {"last": -1}, {"last": 1.5}, {"at": "end", "around": -1}):
        try:
            hodoscope.open(data).branches(**bad)
            raise Failed(f"{bad} was taken")
        except hodoscope.Error as error:
            check(error.cause == "usage", error)


def case_interrupts(case):
    """Ctrl-C ends a question and an iteration; other threads run meanwhile, and the recording can be asked again."""
    data = case.record("long.data", "300000")
    done = threading.Event()

    def press(after):
        # The question may be over before: then it is asked again.
        while not done.wait(after):
            os.kill(os.getpid(), signal.SIGINT)

    def pressed(*_):
        # Only what is in work counts.
        if asking or recording.ask("progress")["id"]:
            raise KeyboardInterrupt

    asking = False
    recording = hodoscope.open(data, index=False)
    signal.signal(signal.SIGINT, pressed)
    for what, asking in ((recording.stats, False), (lambda: recording.list("leaf"), False),
                         (lambda: sum(len(block) for block in recording.branches(block=16)), True),
                         (lambda: sum(len(block) for block in recording.calls(block=16)), True)):
        done.clear()
        presser = threading.Thread(target=press, args=(0.3,))
        presser.start()
        try:
            end = time.monotonic() + 60
            while time.monotonic() < end:
                what()
            raise Failed("Ctrl-C did nothing")
        except KeyboardInterrupt:
            pass
        finally:
            asking = False
            done.set()
            presser.join()
    check(recording.moment("start").branch == 0, "the recording cannot be asked any more")


def case_closes(case):
    """Several threads may close one iterator."""
    with hodoscope.open(case.record("a.data")) as recording:
        for _ in range(20):
            blocks = recording.branches(block=1)
            next(blocks)
            closers = [threading.Thread(target=blocks.close, daemon=True) for _ in range(4)]
            for closer in closers:
                closer.start()
            for closer in closers:
                closer.join(30)
                check(not closer.is_alive(), "close() does not end")


def case_memory(case):
    """What takes more memory than there is raises an error and leaves the interpreter running."""
    program = """if True:
        import hodoscope, resource, sys
        recording = hodoscope.open(sys.argv[1], index=False)
        with open("/proc/self/status") as file:
            size = next(int(line.split()[1]) << 10 for line in file if line.startswith("VmSize"))
        # Enough for a thread, but not for such a block.
        resource.setrlimit(resource.RLIMIT_AS, (size + (40 << 20), resource.RLIM_INFINITY))
        for rows in (recording.branches, recording.calls):
            try:
                rows(block=1 << 20).all()
            except hodoscope.Error as error:
                print(error.cause, error)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print(recording.stats()["instructions"] > 0)
    """
    data = case.record("a.data")
    done = subprocess.run([sys.executable, "-c", program, data], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    check(done.returncode == 0 and len(lines) == 3 and lines[2] == "True", f"{done.returncode}: {done.stdout}{done.stderr}")
    check(all(line.startswith("no_space ") for line in lines[:2]), lines)


def case_names_of_files(case):
    """A file's name need not be UTF-8."""
    name = os.fsdecode(b"caf\xe9.data")
    os.rename(case.record("a.data"), name)
    with hodoscope.open(name) as recording:
        check(recording.path == name and recording.stats()["instructions"] > 0, ascii(recording.path))
        try:
            recording.list("laef")
            raise Failed("answered")
        except hodoscope.Error as error:
            check(str(error).startswith("caf\\xe9.data: no call"), ascii(str(error)))


def examples_of_docs():
    """The text of docs/python.md, and its examples."""
    with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
        text = file.read()
    return text, re.findall(r"```python\n(.*?)```", text, re.S)


def case_docs(case):
    """The examples of docs/python.md run, and say what is written there."""
    case.record("hodo.data")
    case.record("other.data", "13")
    text, blocks = examples_of_docs()
    check(len(blocks) >= 5, f"{len(blocks)} examples")
    for block in blocks:
        done = subprocess.run([sys.executable, "-"], input=block, capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"{block}\n{done.stderr}")
        check(done.stdout.strip(), f"{block}\nprints nothing")
    for name in hodoscope.BRANCH_DTYPE.names + hodoscope.CALL_DTYPE.names:
        check(f"| `{name}` |" in text, f"docs/python.md does not say what {name} is")


def case_types(case):
    """The package is typed as it says, and its users can hold themselves against that."""
    mypy = shutil.which("mypy", path="/usr/bin")
    if mypy is None:
        print("skipped: there is no mypy")
        sys.exit(77)
    with open("user.py", "w", encoding="utf-8") as file:
        file.write("import hodoscope\n"
                   "def longest(recording: hodoscope.Recording) -> int:\n"
                   "    return max(int(block['duration'].max()) for block in recording.calls())\n"
                   "def where(moment: hodoscope.Moment) -> str:\n"
                   "    return moment.step('line').source_line\n"
                   "def names(recording: hodoscope.Recording) -> list[str]:\n"
                   "    try:\n"
                   "        with recording.calls() as calls:\n"
                   "            return [function.name for function in calls.functions()]\n"
                   "    except hodoscope.Error as error:\n"
                   "        return [error.cause]\n")
    with open("wrong.py", "w", encoding="utf-8") as file:
        file.write("import hodoscope\n"
                   "hodoscope.open().moment('crash').branch.upper()\n"
                   "hodoscope.open().branches(lats=3)\n"
                   "hodoscope.open(rwa='pt')\n")
    package = os.path.join(case.args.build, "python", "hodoscope")
    checked = [mypy, "--strict", "--cache-dir", os.path.join(case.args.build, "python", "mypy-cache")]  # NumPy's types take it seconds
    done = subprocess.run([*checked, "-p", "hodoscope"], capture_output=True, text=True, check=False,
                          env=dict(os.environ, MYPYPATH=os.path.dirname(package)))
    check(done.returncode == 0, done.stdout + done.stderr)
    for name, errors in (("user.py", 0), ("wrong.py", 3)):
        done = subprocess.run([*checked, name], capture_output=True, text=True, check=False,
                              env=dict(os.environ, MYPYPATH=os.path.dirname(package)))
        check(done.stdout.count(" error: ") == errors, f"{name}: {done.stdout}{done.stderr}")
    examples = []
    for number, block in enumerate(examples_of_docs()[1]):
        examples.append(f"example{number}.py")
        with open(examples[-1], "w", encoding="utf-8") as file:
            file.write(block)
    done = subprocess.run([*checked, *examples], capture_output=True, text=True, check=False,
                          env=dict(os.environ, MYPYPATH=os.path.dirname(package)))
    check(done.returncode == 0, f"the examples of docs/python.md: {done.stdout}{done.stderr}")
    import hodoscope._hodo as core  # pylint: disable=import-outside-toplevel
    with open(os.path.join(package, "_hodo.pyi"), encoding="utf-8") as file:
        stub = file.read()
    for name in (name for name in dir(core) if not name.startswith("__")):
        check(re.search(rf"^(class )?{name}\b", stub, re.M), f"the stub has no {name}")


def case_install(case):
    """What `cmake --install` puts in place can be used there."""
    subprocess.run(["cmake", "--install", case.args.build, "--component", "Python", "--prefix", case.work],
                   check=True, stdout=subprocess.DEVNULL)
    found = [folder for folder, _, names in os.walk(case.work) if "py.typed" in names]
    check(len(found) == 1, found)
    done = subprocess.run([sys.executable, "-c", "import hodoscope; print(hodoscope.__file__, hodoscope.__version__)"],
                          env=dict(os.environ, PYTHONPATH=os.path.dirname(found[0])), capture_output=True, text=True,
                          check=False)
    check(done.stdout.startswith(found[0]), done.stdout + done.stderr)
    version = case.hodo("--version").stdout.decode().split()
    check(done.stdout.split()[1] in version, f"{done.stdout.split()[1]} is not of {version}")


CASES = {name.removeprefix("case_"): run for name, run in sorted(globals().items()) if name.startswith("case_")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", nargs="?", choices=CASES)
    parser.add_argument("--list", action="store_true")
    for name in ("--hodo", "--build", "--work"):
        parser.add_argument(name)
    args = parser.parse_args()
    if args.list:
        print("\n".join(CASES))
        return 0
    global hodoscope, np  # pylint: disable=global-statement
    import hodoscope  # pylint: disable=import-outside-toplevel,import-error
    import numpy as np  # pylint: disable=import-outside-toplevel,import-error
    work = os.path.join(args.work, args.case)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    try:
        CASES[args.case](Case(args, work))
    except Failed as failure:
        print(f"{args.case}: {failure}")
        return 1
    shutil.rmtree(work)
    return 0


sys.exit(main())
