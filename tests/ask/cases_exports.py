"""What is made of a recording for others to read, judged by exports.py."""

import os
import shutil
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
        check("is what is read here" in told or words[0] == "view", told)
        with open(data, "rb") as file:
            check(file.read() == before, f"{words}: the recording is another one")
    case.hodo("export", data, "--to", "perfetto", "-o", case.path("other.json"))
