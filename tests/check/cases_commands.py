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
    equal(symbols_of(result["findings"][0]), {"readdir@plt", "readdir"}, "ends")


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
        "options": option_names,
        "baseline": baseline,
        "missing-file": missing_file,
        "generators-name": generators_name,
        "hostile-name": hostile_name,
    }
