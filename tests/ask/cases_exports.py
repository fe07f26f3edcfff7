"""What is made of a recording for others to read, judged by exports.py."""

import os
import shutil
import subprocess
import sys

import exports
from box import PARSE, check


def exported(case, judge, *flags):
    program = case.program("parse", PARSE, "-O1", *flags)
    judge(case, check, case.record("a.data", program, "12a", "7", "b"), program)


def case_annotate(case):
    exported(case, exports.annotate)
    data = case.path("a.data")
    for words, says in ((("main", "--call", "parse#1"), "no function 'main' ran in the call parse#1"),
                        (("parse", "--call", "parse"), "annotate"), (("parse", "--call", "prase#2"), "did you mean 'parse'"),
                        (("parse", "--call", "7"), "a call is written FUNCTION#N"),
                        (("parse", "--call", "parse#7"), "call 7 of parse was asked for, and there are only 3"),
                        (("main", "--call", "main#2"), "and there is only one")):
        told = case.hodo("annotate", *words, data, status=None)
        check(says in told.stderr or says == "annotate" and told.returncode == 0, told)


def case_graphs(case):
    if shutil.which("dot") is None:
        print("skipped: dot is not installed")
        sys.exit(77)
    exports.graphs(case, check)


def case_timelines(case):
    exported(case, exports.timelines)


def case_profiles(case):
    exported(case, exports.profiles, "-no-pie", "-fno-pie", "-Wl,-q", "-gdwarf-4")


def case_written_over(case):
    """What is read is not overwritten by what is made of it, whatever it is called there."""
    data = case.record("a.data", case.program("parse", PARSE), "12a")
    with open(data, "rb") as file:
        before = file.read()
    link, symlink = case.path("link.data"), case.path("symlink.data")
    os.link(data, link)
    os.symlink(data, symlink)
    for words in (("export", data, "--to", "perfetto", "-o", data), ("export", data, "--to", "flame-svg", "-o", link),
                  ("export", link, "--to", "bolt", "--module", "/parse", "-o", data), ("check", data, "-o", symlink),
                  ("diff", data, link, "-o", data), ("diff", "--only-in", data, "-o", data, "--", link),
                  ("view", data, "--html", data)):
        told = case.hodo(*words, status=2).stderr
        named = any(f"cannot write {word}: it is what is read here" in told for word in words)
        check(named or words[0] == "view", told)
        with open(data, "rb") as file:
            check(file.read() == before, f"{words}: the recording is another one")
    case.hodo("export", data, "--to", "perfetto", "-o", case.path("other.json"))


def case_outputs_that_fail(case):
    """What cannot be written is said, in hodo's words; that nobody reads on is no reason for any."""
    data = case.record("a.data", case.program("parse", PARSE), "12a")

    def told(stdout, *words):
        done = subprocess.run([case.args.hodo, *words], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stderr

    graph = ("export", data, "--to", "cfg-svg", "--function", "main")
    everything = [("--help", ), ("--version", ), ("show", "--help"), ("help", "show"), ("completion", "bash"), ("crash", data)]
    if shutil.which("dot"):
        everything.append(graph)
    with open("/dev/full", "wb") as full:
        for words in everything:
            status, words_of_it = told(full, *words)
            check(status == 2 and "writing the output: No space left on device" in words_of_it and words_of_it.count("\n") == 1,
                  f"{words}: {status}, {words_of_it}")
    if shutil.which("dot"):
        end, pipe = os.pipe()
        os.close(end)
        check(told(pipe, *graph)[1] == "", "a graph that nobody reads")
        os.close(pipe)
    nowhere = dict(os.environ, TMPDIR=case.path("nowhere"))
    failed = case.hodo("export", data, "--to", "firefox", "-o", case.path("f.json"), env=nowhere, status=2).stderr
    check("TMPDIR names the folder for temporary data" in failed, failed)
