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


def case_old_outputs(case):
    """An output takes the place of the one before it when it is whole; what that was stays so: rights, links, pipes."""
    data = case.record("a.data", case.program("parse", PARSE), "12a")
    export = ("export", data, "--to", "speedscope")
    whole = case.hodo(*export).stdout
    folder = case.path("out")
    os.mkdir(folder)
    old = os.path.join(folder, "old.json")
    for words in ((*export, "--call", "prase#1"), ("export", data, "--to", "bolt", "--module", "nowhere"), (*export, "--from", "x")):
        with open(old, "w", encoding="utf-8") as file:
            file.write("before")
        case.hodo(*words, "-o", old, status=2)
        case.hodo(*words, "-o", old + ".new", status=2)
        with open(old, encoding="utf-8") as file:
            check(file.read() == "before", f"{words}: the old file is gone")
        check(os.listdir(folder) == ["old.json"], f"{words}: left {os.listdir(folder)}")

    def is_written(name, path=old):
        case.hodo(*export, "-o", path)
        with open(path, encoding="utf-8") as file:
            check(file.read() == whole, f"{name}: another output")

    os.chmod(old, 0o640)
    is_written("an old file")
    check(os.stat(old).st_mode & 0o7777 == 0o640, "its rights")
    symlink, link = os.path.join(folder, "symlink"), os.path.join(folder, "link")
    os.symlink("old.json", symlink)
    is_written("a symbolic link", symlink)
    check(os.path.islink(symlink) and os.stat(old).st_mode & 0o7777 == 0o640, "a symbolic link stays one")
    with open(old, "w", encoding="utf-8"):
        os.link(old, link)
    is_written("a file with two names")
    check(os.path.samefile(old, link), "both are of one file still")
    os.remove(symlink)
    os.symlink("late.json", symlink)
    is_written("a symbolic link to what is not there", symlink)
    check(os.path.islink(symlink), "it stays one")
    case.hodo(*export, "-o", "here.json")  # beside it: a name without a folder
    check(os.path.exists(case.path("here.json")), "in the folder of the process")
    check(case.hodo(*export, "-o", "/dev/stdout").stdout == whole, "a pipe")
    with open(old, "w", encoding="utf-8") as file:
        subprocess.run([case.args.hodo, *export, "-o", "/dev/stdout"], stdout=file, check=True)
        check(os.path.samestat(os.fstat(file.fileno()), os.stat(old)), "the file that is open as standard output")
    check(sorted(os.listdir(folder)) == ["late.json", "link", "old.json", "symlink"], f"left {os.listdir(folder)}")


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
