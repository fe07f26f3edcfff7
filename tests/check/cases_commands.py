"""What `hodo check` does with options, baselines, names and files around the program."""

import json
import os
import shutil
import subprocess

from harness import CLEAN, FOUND, INCOMPLETE, TIMEOUT, USAGE, Failure, equal, rules_of, symbols_of


def hidden_file(tool):
    """The walk-through of docs/rules/hidden-file.md."""
    folder = os.path.join(tool.work, "folder")
    os.makedirs(folder)
    for name in ("hidden", "seen"):
        open(os.path.join(folder, name), "w", encoding="utf-8").close()
    preload = {"LD_PRELOAD": os.path.join(tool.programs, "libhides.so")}
    data, output = tool.record(["ls", folder], env=preload)
    equal(("seen" in output, "hidden" in output), (True, False), "ls shows")
    tool.both_ways(data)
    result, status = tool.check(data)
    equal(status, FOUND, "status")
    equal(rules_of(result), {"plt.redirected", "library.injected"}, "rules")
    equal(len(result["findings"]), 1, "the library is one finding")
    equal(symbols_of(result["findings"][0]), {"readdir@plt", "readdir"}, "ends")


def deleted_library(tool):
    """A library that was preloaded and is gone when the recording ends, which was kept."""
    library = os.path.join(tool.work, "libgone.so")
    shutil.copy(os.path.join(tool.programs, "libhides.so"), library)
    data, _ = tool.record(["sh", "-c", f"LD_PRELOAD={library} ls /; rm {library}"])
    result, status = tool.check(data)
    equal(status, FOUND, "status")
    equal(rules_of(result), {"plt.redirected", "library.injected"}, "rules")
    equal(len(result["findings"]), 1, "the library is one finding")
    equal((result["complete"], result["not_checked"]), (True, []), "not checked")


def audited(tool):
    """Where an auditing library has the dynamic linker call functions: only the library itself is found; and what it redirects."""
    program, library = (os.path.join(tool.programs, one) for one in ("audited", "libaudits.so"))
    for more, rules in (({}, set()), ({"HODO_AUDIT_FORGED": "1"}, {"plt.redirected"})):
        data, output = tool.record([program], env={"LD_AUDIT": library, **more})
        equal(output, "1 1.500000 bc 1\n", "its output")
        tool.both_ways(data)
        equal(rules_of(tool.check(data)[0]), {"library.injected"} | rules, f"rules with {more}")


def copies(tool):
    """A call of what the caller has a copy of leads to another file's copy, as of inline functions of C++; one that is no copy is found."""
    library = lambda name: os.path.join(tool.programs, f"libcopies_{name}.so")
    for first, rules in (("weak", set()), ("strong", {"plt.redirected"})):
        data, output = tool.record([os.path.join(tool.programs, "copies"), library(first), library("opened")])
        equal(output, "4\n", "its output")
        tool.both_ways(data)
        equal(rules_of(tool.check(data)[0]), rules, f"rules with a {first} one")


def without_sections(tool):
    """Files of which only the headers for the loader are left: calls by name are known as such, and one that leads elsewhere is found."""

    def bare(name):
        path = os.path.join(tool.work, name)
        shutil.copy(os.path.join(tool.programs, name), path)
        with open(path, "r+b") as file:
            for place, size in ((0x28, 8), (0x3C, 4)):  # e_shoff, e_shnum and e_shstrndx
                file.seek(place)
                file.write(bytes(size))
        return path

    first = os.path.join(tool.programs, "libloaded_a.so")
    calls_by_name = [os.path.join(tool.programs, "copies"), first, bare("libcopies_opened.so")]
    forged = [bare("hijacks"), "slot-overwritten"]
    for command, rules, said in ((calls_by_name, set(), "6\n"), (forged, {"plt.redirected"}, "reached\n")):
        data, output = tool.record(command)
        equal(output, said, "its output")
        tool.both_ways(data)
        result, status = tool.check(data)
        equal((rules_of(result), status), (rules, FOUND if rules else CLEAN), "rules, status")


def replaced_program(tool):
    """A program that is another one when the recording ends: what it was is judged."""
    program, hijacks, hello = (os.path.join(tool.work, "x"), *(os.path.join(tool.programs, one) for one in ("hijacks", "hello")))
    data, _ = tool.record(["sh", "-c", f"cp {hijacks} {program}; {program} rop; cp {hello} {program}.new; mv {program}.new {program}"])
    tool.both_ways(data)
    result, status = tool.check(data)
    equal((status, result["complete"], rules_of(result)), (FOUND, True, {"return.target", "chain.rop"}), "what is found")
    equal(symbols_of(result["findings"][0]) & {"host"}, {"host"}, "its symbols")


def option_names(tool):
    """What the options do to the rules, the findings and the exit status."""
    data, _ = tool.record([os.path.join(tool.programs, "hijacks"), "rop"])

    def ask(*options):
        done = subprocess.run(
            [tool.hodo, "check", "--json", *options, data],
            capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
        return done.returncode, rules_of(json.loads(done.stdout)) if done.stdout else done.stderr

    equal(ask("--rule", "chain.rop"), (FOUND, {"chain.rop"}), "one rule")
    equal(ask("--no-rule", "chain.rop"), (FOUND, {"return.target"}), "all but one")
    off = ["--no-rule", "chain.rop", "--no-rule", "return.target"]
    equal(ask(*off), (CLEAN, set()), "none of those that find something")
    status, message = ask("--rule", "chain.rap")
    equal((status, "chain.rap" in message), (USAGE, True), "an unknown rule")
    status, message = ask("--rule", "chain.rop", "--no-rule", "chain.rop")
    equal((status, "no rule is left" in message), (USAGE, True), "no rule at all")
    windows, _ = tool.record(["true"], options=["--source", "lbr"])
    for options, expected in (((), INCOMPLETE), (("--allow-incomplete",), CLEAN)):
        done = subprocess.run(
            [tool.hodo, "check", *options, windows], capture_output=True, timeout=TIMEOUT, check=False
        )
        equal(done.returncode, expected, f"windows with {options}")


def baseline(tool):
    """What runs taught is known, all else is reported; runs with findings teach nothing."""
    program = os.path.join(tool.programs, "hijacks")
    learned = os.path.join(tool.work, "learned")

    def ask(form, *options):
        data, _ = tool.record([program, form])
        done = subprocess.run(
            [tool.hodo, "check", "--json", *options, data],
            capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
        rules = rules_of(json.loads(done.stdout)) if done.stdout else None
        return done.returncode, rules, done.stderr

    status, _, message = ask("none", "--baseline", learned)
    equal((status, "learned" in message), (USAGE, True), "no such baseline")
    status, rules, message = ask("rop", "--learn", learned)
    equal((status, "nothing was learned" in message), (FOUND, True), "a run with findings")
    equal(os.path.exists(learned), False, "it leaves a file")
    equal(ask("none", "--learn", learned)[:2], (CLEAN, set()), "a first run")
    equal(ask("none", "--baseline", learned)[:2], (CLEAN, set()), "the same again")
    found = {"call.sensitive", "baseline.new"}
    equal(ask("pointer-to-library", "--baseline", learned)[:2], (FOUND, found), "another run")
    status, _, message = ask("none", "--learn", learned)
    equal((status, " 0 of them new" in message), (CLEAN, True), "learning the same")
    status, rules, message = ask("pointer-to-library", "--learn", learned)
    equal((status, rules), (FOUND, {"call.sensitive"}), "a run that calls a sensitive function")
    equal("learned with the findings of call.sensitive (1)" in message, True, "that it is learned")
    equal(ask("pointer-to-library", "--baseline", learned)[:2], (CLEAN, set()), "it is known")
    found = {"call.sensitive", "baseline.new"}
    equal(ask("pointer-to-system", "--baseline", learned)[:2], (FOUND, found), "others are not")
    status, _, _ = ask("none", "--rule", "baseline.new")
    equal(status, USAGE, "the rule without a baseline")
    with open(learned, "r+b") as file:
        file.truncate(os.path.getsize(learned) - 1)
    status, _, message = ask("none", "--baseline", learned)
    equal((status, "ends in the middle" in message), (USAGE, True), "a damaged baseline")


def judged(tool, data, *options):
    """Exit status, the JSON, and standard error of `hodo check --json`."""
    done = subprocess.run(
        [tool.hodo, "check", "--json", *options, data],
        capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def learned_since(tool):
    """Several runs make one baseline, and what is new since the runs before is named."""
    program = os.path.join(tool.programs, "hijacks")
    learned = os.path.join(tool.work, "learned")
    first, _ = tool.record([program, "none"])
    status, result, message = judged(tool, first, "--learn", learned)
    equal((status, result["learned"]["new"] > 0), (CLEAN, True), "a first run")
    equal("new: " in message, False, "of which all is new")
    second, _ = tool.record([program, "pointer-to-library"])
    status, result, message = judged(tool, second, "--learn", learned)
    new = [b["to"].get("symbol") for b in result["learned"]["some"]]
    equal((status, "setuid" in new, len(new)), (FOUND, True, result["learned"]["new"]), "a second run")
    equal("  new: icall" in message and "setuid+0x0 (libc" in message, True, "what is new")
    status, result, _ = judged(tool, second, "--learn", learned)
    equal(result["learned"]["new"], 0, "the same again")
    for data in (first, second):
        equal(judged(tool, data, "--baseline", learned)[0], CLEAN, "both are known")


def suppressed(tool):
    """A line with a reason hides what it fits, everywhere to be seen; other lines are refused."""
    data, _ = tool.record([os.path.join(tool.programs, "hijacks"), "pointer-to-library"])
    _, plain, _ = judged(tool, data)
    lines = os.path.join(tool.work, "known")

    def with_lines(text, *options):
        with open(lines, "w", encoding="utf-8") as file:
            file.write(text)
        return judged(tool, data, "--suppress", lines, *options)

    line = plain["findings"][0]["suppression"]
    status, result, _ = with_lines(f"# looked at\n\n{line} | it is a test\n")
    equal((status, result["findings"], result["unused_suppressions"]), (CLEAN, [], []), "suppressed")
    one = result["suppressed"][0]
    equal((one["why"], one["finding"]["rule"], one["finding"]["count"]), ("it is a test", "call.sensitive", 1), "said")
    for form in ("text", "html", "sarif"):
        done = subprocess.run(
            [tool.hodo, "check", "--format", form, "--suppress", lines, data],
            capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
        equal((done.returncode, "it is a test" in done.stdout), (CLEAN, True), form)
    log = json.loads(done.stdout)["runs"][0]["results"]
    equal([r["suppressions"][0]["justification"] for r in log], ["it is a test"], "SARIF")
    status, result, _ = with_lines("call.sensitive | hijacks:main => libc*:setuid | another caller\n")
    equal((status, len(result["findings"]), len(result["unused_suppressions"])), (FOUND, 1, 1), "another")
    status, result, _ = with_lines("call.target | * => * | another rule\n")
    equal((status, rules_of(result)), (FOUND, {"call.sensitive"}), "of another rule")
    for text, wrong in (("call.sensitive | a => b |\n", "no reason"), ("call.x | a => b | c\n", "call.x"),
                        ("\ncall.sensitive | a | b\n", "line 2")):  # fmt: skip
        status, _, message = with_lines(text)
        equal((status, wrong in message), (USAGE, True), text)
    status, _, message = judged(tool, data, "--suppress", os.path.join(tool.work, "none"))
    equal((status, "none" in message), (USAGE, True), "no such file")


def explains_itself(tool):
    """A finding says first what should have been, and a chain is one finding."""
    program = os.path.join(tool.programs, "hijacks")
    data, _ = tool.record([program, "rop"])
    _, result, _ = judged(tool, data)
    equal(len(result["findings"]), 1, "findings")
    finding = result["findings"][0]
    equal((finding["rule"], len(finding["steps"]) >= 3), ("return.target", True), "the steps")
    facts = {fact["what"]: fact for fact in finding["facts"]}
    equal("::rop" in facts["should go to"]["place"]["symbol"], True, "where it should have gone")
    equal("::smash" in facts["call open"]["text"], True, "which call was open")
    equal(finding["code_from"][-1]["instruction"], "ret", "what ran")
    equal(finding["code_to"][-1]["instruction"], "ret", "and where it led to")
    lines = tool.text(data).splitlines()
    equal(any("branches in" in line for line in lines), True, "what does not matter is folded")
    equal(len([line for line in lines if " => " in line]) < 20, True, "so that few branches are left")
    done = subprocess.run(
        [tool.hodo, "check", "--all-branches", data], capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    equal(sum(line[:4].strip(" >") == "" and " => " in line for line in done.stdout.splitlines()) > 40, True, "all")
    data, _ = tool.record([program, "slot-overwritten"])
    _, result, _ = judged(tool, data)
    facts = {fact["what"]: fact for fact in result["findings"][0]["facts"]}
    equal("getppid" in facts["file holds"]["text"], True, "what the file says that the slot holds")
    equal("place" in facts["pointer at"], True, "where the slot is")


def jit(tool):
    """Code that a known generator made is explained, reported or, whoever made it, allowed."""
    data, _ = tool.record([os.path.join(tool.programs, "hijacks"), "shellcode-in-mapping"])
    equal(judged(tool, data)[0], FOUND, "nobody knows who made it")
    status, result, _ = judged(tool, data, "--jit", "allow")
    equal((status, result["findings"]), (CLEAN, []), "allowed")
    equal(judged(tool, data, "--jit", "maybe")[0], USAGE, "no such word")


def hooked_sleds(tool):
    """A sled of XRay may call a function of its file; what leads elsewhere, or lies behind it, is a change."""
    for form in ("hooked-inside", "hooked-behind"):
        data, _ = tool.record([os.path.join(tool.programs, "sleds"), form])
        result, status = tool.check(data)
        equal((rules_of(result), status), ({"text.changed"}, FOUND), form)


def generators_name(tool):
    """A program that only has the name of a code generator is none."""
    program = os.path.join(tool.work, "nodeinfo")
    shutil.copy(os.path.join(tool.programs, "hijacks"), program)
    data, _ = tool.record([program, "shellcode-in-mapping"])
    result, status = tool.check(data)
    equal((rules_of(result), status), ({"code.unknown"}, FOUND), "rules, status")


def missing_file(tool):
    """What lies in a file that has gone is not checked, and that is said."""
    program = os.path.join(tool.work, "gone")
    shutil.copy(os.path.join(tool.programs, "hello"), program)
    data, _ = tool.record([program])
    os.remove(program)
    result, status = tool.check(data)
    equal(result["findings"], [], "findings")
    equal((result["complete"], status), (False, INCOMPLETE), "complete, status")
    if "gone" not in str(result["not_checked"]) + str(result["losses"]):
        raise Failure("the report does not name the file")


def hostile_name(tool):
    """Names of the program's choice do not act on a terminal."""
    program = os.path.join(tool.work, "a\x1b[31m\u202eb\nc")
    shutil.copy(os.path.join(tool.programs, "hijacks"), program)
    data, _ = tool.record([program, "rop"])
    equal(rules_of(tool.check(data)[0]), {"return.target", "chain.rop"}, "rules")
    text = tool.text(data)
    bad = [c for c in text if c in "\x1b\u202e"]
    equal(bad, [], "characters that act")
    if "\\x1b[31m" not in text:
        raise Failure("the name does not appear")


def cases():
    return {
        "hidden-file": hidden_file,
        "deleted-library": deleted_library,
        "audited": audited,
        "copies": copies,
        "without-sections": without_sections,
        "replaced-program": replaced_program,
        "learned-since": learned_since,
        "suppressed": suppressed,
        "explains-itself": explains_itself,
        "jit": jit,
        "options": option_names,
        "baseline": baseline,
        "missing-file": missing_file,
        "hooked-sleds": hooked_sleds,
        "generators-name": generators_name,
        "hostile-name": hostile_name,
    }
