#!/usr/bin/python3
"""Records programs and has `hodo check` judge them.

One case by name (hijack.FORM, clean.NAME, ...) for CTest, or --all for every clean program, also
those that ./test leaves out for their time. Exit status 0: as it must be; 1: not; 77: a program that
the case needs is not installed.
"""

import argparse
import concurrent.futures
import html.parser
import json
import os
import random
import shlex
import shutil
import struct
import subprocess
import sys

import sarif

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.dirname(os.path.dirname(HERE))
RULES = [page.removesuffix(".md") for page in os.listdir(os.path.join(SOURCES, "docs/rules"))]
FIELDS = {"hijacks.txt": 4, "clean.txt": 3}
SKIPPED = 77
TIMEOUT = 280  # less than CTest's
PATIENCE = 3600  # of --all, which runs large programs, on any machine
CLEAN, FOUND, USAGE, INCOMPLETE = 0, 1, 2, 3
# Windows of seven branches overlap, so that none is missed but those at the end.
WINDOWS = ["--source", "lbr", "--period", "7"]


class Failure(Exception):
    """Why the case failed, as text."""


class Skip(Exception):
    """What the case needs and this machine has not."""


def lines(name):
    """The fields of each line of a list beside this file."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                yield [field.strip() for field in line.split("|", FIELDS[name] - 1)]


def equal(found, expected, what):
    if found != expected:
        raise Failure(f"{what}: {found!r}, expected {expected!r}")


class Tool:
    def __init__(self, hodo, programs, ways, work):
        self.hodo = os.path.abspath(hodo)
        self.ways = os.path.abspath(ways)
        self.programs = os.path.abspath(programs)
        self.work = os.path.abspath(work)
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)

    def record(self, command, status=0, env=None, options=()):
        data = os.path.join(self.work, "case.data")
        if shutil.which(command[0]) is None:
            raise Skip(f"{command[0]} is not installed")
        done = subprocess.run(
            [self.hodo, "record", *options, "-o", data, "--", *command],
            cwd=self.work, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=TIMEOUT, check=False,
        )  # fmt: skip
        if done.returncode != status:
            raise Failure(f"record: status {done.returncode}\n{done.stdout}{done.stderr}")
        return data, done.stdout

    def check(self, data):
        done = subprocess.run(
            [self.hodo, "check", "--json", data],
            capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
        if not done.stdout:
            raise Failure(f"check: status {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout), done.returncode

    def both_ways(self, data):
        """Paths that come again are judged as a whole; branch by branch comes to the same."""
        done = subprocess.run(
            [self.ways, data], capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        equal((done.stdout + done.stderr, done.returncode), ("", 0), "by paths and branch by branch")

    def text(self, data):
        done = subprocess.run(
            [self.hodo, "check", "--explained", data],
            capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
        return done.stdout


def rules_of(result):
    return {finding["rule"] for finding in result["findings"]}


def symbols_of(finding):
    """Of both ends, the last part of the name."""
    ends = [finding[end] for end in ("from", "to") if finding[end]]
    names = [end.get("symbol", "").replace("(anonymous namespace)::", "").split("(")[0] for end in ends]
    return {name.split("::")[-1] for name in names}


def hijack(tool, program, form, first, others):
    data, output = tool.record([os.path.join(tool.programs, program), form])
    if "reached" not in output:
        raise Failure("the hijack did not reach its end")
    tool.both_ways(data)
    result, status = tool.check(data)
    rule, _, place = first.partition(" ")
    expected = set(others.split()) | ({rule} if rule != "-" else set())
    equal(rules_of(result), expected, "rules")
    equal(status, FOUND if expected else CLEAN, "status")
    if not expected:
        return
    finding = result["findings"][0]
    equal(finding["rule"], rule, "the first rule")
    equal("(bad)" in finding["reason"], False, "an instruction that cannot be read")
    if place not in symbols_of(finding):
        raise Failure(f"the first finding is at {symbols_of(finding)}, expected {place}")
    if not finding["before"]:
        raise Failure("no branches before the finding")


def without_names(tool):
    """A longjmp that no symbol tells of."""
    data, output = tool.record([os.path.join(tool.programs, "jmpbuf_overwritten")])
    equal("reached" in output, True, "the hijack reached its end")
    result, status = tool.check(data)
    equal((rules_of(result), len(result["findings"]), status), ({"return.target"}, 1, FOUND), "rules")


# Forms that are none in 32-bit programs: QEMU does not lay them out at the addresses that they see, by which
# /proc/self/mem goes; and a fork is not known by its system call, which the vDSO makes.
ONLY_64 = {"text-through-proc", "rop-in-child"}


def by_records(tool, program, form, expected, options):
    """The same in a recording of BTS records or branch stacks."""
    data, _ = tool.record([os.path.join(tool.programs, program), form], options=options)
    result, status = tool.check(data)
    equal(rules_of(result), expected, "rules")
    windows = options == WINDOWS
    equal(result["complete"], not windows, "complete")
    equal(status, FOUND if expected else INCOMPLETE if windows else CLEAN, "status")


def forms():
    """(form, RULE PLACE, rules besides, all rules, those in windows) of each hijack."""
    for form, first, others, windows in lines("hijacks.txt"):
        rules = set(others.split()) | ({first.partition(" ")[0]} - {"-"})
        yield form, first, others, rules, rules if windows == "=" else set(windows.split()) - {"-"}


def sums(_):
    """The table of docs/rules/README.md says what the list of hijacks says."""
    counts = {}
    for _, _, _, rules, windows in forms():
        for rule in rules:
            row = counts.setdefault(rule, [0, 0, 0])
            counts[rule] = [row[0] + 1, row[1] + 1, row[2] + (rule in windows)]
    counts.update({rule: [0, 1, int(windows)] for rule, windows in OF_RECORDS.items()})
    expected = {f"| {rule} | {a} | {b} | {c} |" for rule, (a, b, c) in counts.items()}
    with open(os.path.join(SOURCES, "docs/rules/README.md"), encoding="utf-8") as file:
        section = file.read().partition("## How it was tried")[2].partition("RIPE64")[0]
    rows = {line for line in section.splitlines() if line.startswith("|")}
    equal({row for row in rows if any(c.isdigit() for c in row)}, expected, "the table")


# Rules that no program can break under QEMU, as the code that ran is known, and whether branch stacks
# show it: the records themselves are changed.
OF_RECORDS = {"text.source": True, "text.target": True}


def changed_record(tool, rule, options):
    """A call that led behind the first instructions of a function, or a branch that one of them made."""
    program = os.path.join(tool.programs, "hijacks")
    data, _ = tool.record([program, "none"], options=options)
    listed = subprocess.run(
        [tool.hodo, "branches", "--format", "csv", data],
        capture_output=True, text=True, timeout=TIMEOUT, check=True,
    )  # fmt: skip
    header, *rows = (line.split(",") for line in listed.stdout.splitlines())
    # (kind, from, to) of two in a row: the call, and the next branch, some instructions later.
    columns = [header.index(name) for name in ("kind", "from", "to")]
    branches = [[row[c] for c in columns] for row in rows]
    (_, *call), (_, *after) = [
        (a, b) for a, b in zip(branches, branches[1:])
        if (a[0], b[0]) == ("call", "cond") and a[2] != b[1]
    ][-1]  # fmt: skip
    if rule == "text.target":
        old, new = call, (call[0], after[0])
    else:
        old, new = after, (call[1], after[1])
    packed = lambda pair: struct.pack("<QQ", *(int(address, 16) for address in pair))
    with open(data, "rb") as file:
        content = file.read()
    equal(packed(old) in content, True, "the record is in the file")
    with open(data, "wb") as file:
        file.write(content.replace(packed(old), packed(new)))
    result, status = tool.check(data)
    equal((rules_of(result), status), ({rule}, FOUND), "rules, status")
    finding = result["findings"][0]
    equal((finding["from"]["address"], finding["to"]["address"]), new, "the branch")


def injected_record(tool, program):
    """A debugger stops the thread, sets its registers so that it goes on in dlopen, and lets it go."""
    options = ["--source", "bts"]
    data, _ = tool.record([os.path.join(tool.programs, program), "library-by-pointer"], options=options)
    called = next(f for f in tool.check(data)[0]["findings"] if f["rule"] == "call.sensitive")
    ends = lambda branch: [branch[end]["address"] for end in ("from", "to")]
    stopped, back, called = (ends(b) for b in (*called["before"][-2:], called))
    # Where the last jump before had led to, the thread leaves for the kernel, and comes back in dlopen.
    changes = [(back, (stopped[1], "0x0")), (called, ("0x0", called[1]))]
    with open(data, "rb") as file:
        content = file.read()
    for old, new in changes:
        old, new = (struct.pack("<QQ", *(int(address, 16) for address in pair)) for pair in (old, new))
        equal(content.count(old), 1, "records of this branch")
        content = content.replace(old, new)
    with open(data, "wb") as file:
        file.write(content)
    result, status = tool.check(data)
    equal((rules_of(result), status), ({"library.injected"}, FOUND), "rules, status")
    equal("a debugger" in result["findings"][0]["reason"], True, "the reason")


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


def sensitive_pointer(tool, program):
    """However the program is built: with the function's own address, or that of its stub, or static."""
    for source in ("qemu", "bts"):
        data, _ = tool.record([os.path.join(tool.programs, program), "pointer"], options=["--source", source])
        result, status = tool.check(data)
        equal((rules_of(result), status), ({"call.sensitive"}, FOUND), f"{source}: rules, status")
        ends = {name.removesuffix("@plt") for name in symbols_of(result["findings"][0])}
        equal(ends, {"main", "seteuid"}, f"{source}: ends")


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


def judged_while_recorded(tool, command, status, options=()):
    """Standard output and error of `hodo record --check`, with the recording."""
    data = os.path.join(tool.work, "live.data")
    done = subprocess.run(
        [tool.hodo, "record", "--check", *options, "-o", data, "--", *command],
        cwd=tool.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT,
        check=False,
    )  # fmt: skip
    if done.returncode != status:
        raise Failure(f"record --check: status {done.returncode}, expected {status}\n{done.stderr}")
    return data, done


def live(tool):
    """Judging while recording comes to what judging the recording comes to."""
    program = lambda name: os.path.join(tool.programs, name)
    hijack_status = {"rop": FOUND, "hook-jump": FOUND, "none": CLEAN}
    commands = [([program("hijacks"), form], status) for form, status in hijack_status.items()]
    commands += [([program(p)], CLEAN) for p in ("threads", "fork_wait", "dlopen_loop", "exceptions")]
    commands.append((["sh", "-c", "ls / | sort; exit 7"], 7))
    for command, status in commands:
        data, done = judged_while_recorded(tool, command, status)
        result, _ = tool.check(data)
        told = [line.split()[0] for line in done.stderr.splitlines() if line.split(" ")[0] in RULES]
        equal(sorted(told), sorted(f["rule"] for f in result["findings"]), f"{command}: rules")
        summary = done.stderr.splitlines()[-1]
        equal(f"in {result['branches']:,} branches" in summary, True, f"{command}: {summary}")
        equal("not everything" in summary, not result["complete"], f"{command}: complete")


def live_sources(tool):
    """What cannot be followed is judged at the end."""
    form = [os.path.join(tool.programs, "hijacks"), "rop"]
    _, done = judged_while_recorded(tool, form, FOUND, ["--source", "bts"])
    equal("chain.rop" in done.stderr, True, "the finding")
    judged_while_recorded(tool, ["true"], INCOMPLETE, ["--source", "lbr"])


def live_at_once(tool):
    """A finding is told while the program runs, which waits for that."""
    go = os.path.join(tool.work, "go")
    wait = f"for i in $(seq 600); do [ -e '{go}' ] && break; sleep 0.1; done"
    script = f"'{tool.programs}/hijacks' rop; {wait}"
    recorder = subprocess.Popen(
        [tool.hodo, "record", "--check", "-o", os.path.join(tool.work, "live.data"), "--", "sh", "-c", script],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    told = ""
    for line in recorder.stderr:
        told += line
        if line.startswith("chain.rop") and recorder.poll() is None:
            open(go, "w", encoding="utf-8").close()
    if recorder.wait(TIMEOUT) != FOUND or not os.path.exists(go):
        raise Failure(f"status {recorder.returncode}, told too late or not at all:\n{told}")
    equal("KiB of trace" in told.split("chain.rop")[0], False, "told when the recording was over")


def live_stop(tool):
    """The program and its children are killed, and the recording is whole."""
    script = f"'{tool.programs}/hijacks' rop; sleep 250 & wait; echo late"
    options = ["--on-finding", "stop"]
    data, done = judged_while_recorded(tool, ["sh", "-c", script], FOUND, options)
    equal("late" in done.stdout, False, "the program ran to its end")
    result, _ = tool.check(data)
    equal(result["complete"], True, "complete")


class Elements(html.parser.HTMLParser):
    """The elements and attributes of a page, and its text."""

    def __init__(self, page):
        super().__init__()
        self.names, self.attributes, self.text = set(), set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data):
        self.text += data


def formats(tool):
    """The files to hand on: SARIF as specified, a page that runs and loads nothing."""
    # Markup, a link and an argument of SARIF's messages, and what turns text around.
    name = "a<img src=x onerror=alert(1)>'\"&b;[c](d){0}\u202e"
    program = os.path.join(tool.work, name)
    shutil.copy(os.path.join(tool.programs, "hijacks"), program)
    data, _ = tool.record([program, "rop"])
    plain, _ = tool.check(data)

    def written(form):
        path = os.path.join(tool.work, "out." + form)
        done = subprocess.run(
            [tool.hodo, "check", "--format", form, "-o", path, data],
            capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
        equal((done.returncode, done.stdout, done.stderr), (FOUND, "", ""), f"{form}: status, output")
        with open(path, encoding="utf-8") as file:
            return file.read()

    log = json.loads(written("sarif"))
    equal(sarif.problems(log), [], "SARIF")
    results = log["runs"][0]["results"]
    equal([r["ruleId"] for r in results], [f["rule"] for f in plain["findings"]], "rules")
    flow = results[0]["codeFlows"][0]["threadFlows"][0]["locations"]
    equal([s["importance"] for s in flow].index("essential"), 32, "the branch among those around it")
    equal("a%3Cimg" in json.dumps(log), True, "the name as a URI")

    page = Elements(written("html"))
    known = set(
        "html head meta title style body h1 h2 h3 p span code div table tr th td article header dl dt dd"
        " details summary br".split()
    )
    equal(page.names - known, set(), "elements that the page should not have")
    equal(
        {a for a in page.attributes if a.startswith("on") or a in ("src", "href")}, set(), "attributes"
    )
    equal("a<img src=x onerror=alert(1)>'\"&b;[c](d){0}\\xe2\\x80\\xae" in page.text, True, "the name")
    equal(f"{len(results)} findings" in page.text, True, "the summary")

    done = subprocess.run(
        [tool.hodo, "check", "-o", os.path.join(tool.work, "none", "x"), data],
        capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    equal((done.returncode, "cannot write" in done.stderr), (USAGE, True), "a file that cannot be made")


def sarif_schema(tool):
    """Logs of all that a log may have are valid by OASIS's own schema."""
    try:
        import jsonschema
    except ImportError as reason:
        raise Skip("python3-jsonschema is not installed") from reason
    # Kept from one run to the next; only the hash decides whether it can be used.
    path = os.path.join(os.path.dirname(tool.work), "sarif-schema.json")
    script = os.path.join(SOURCES, "scripts/sarif-schema")
    done = subprocess.run([script, path], capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode == SKIPPED:
        raise Skip(done.stderr.strip())
    equal((done.returncode, done.stderr), (0, ""), "scripts/sarif-schema")
    with open(path, encoding="utf-8") as file:
        schema = json.load(file)
    validator = jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())
    wrong = lambda log: [f"{list(e.path)}: {e.message[:300]}" for e in validator.iter_errors(log)]

    def log_of(data, *options):
        done = subprocess.run(
            [tool.hodo, "check", "--format", "sarif", *options, data],
            capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )  # fmt: skip
        return json.loads(done.stdout)

    gone = os.path.join(tool.work, "a [b](c){0}\u202e")
    shutil.copy(os.path.join(tool.programs, "hijacks"), gone)
    hijacks = os.path.join(tool.programs, "hijacks")
    # With source lines, in code of no file, nothing found, in windows; of a file that is gone.
    asked = [([hijacks, "rop"], ()), ([hijacks, "shellcode-on-heap"], ()), ([hijacks, "none"], ())]
    asked += [([hijacks, "jop"], WINDOWS), ([gone, "rop"], ())]
    for command, how in asked:
        data, _ = tool.record(command, options=how)
        if command[0] == gone:
            os.remove(gone)
        log = log_of(data, "--explained")
        equal(wrong(log), [], f"{command} {how}: SARIF")
        if command == [hijacks, "rop"]:
            whole = log
    # The schema is looked at: each of these is one thing wrong.
    def damaged(change):
        log = json.loads(json.dumps(whole))
        change(log, log["runs"][0], log["runs"][0]["results"][0])
        return log

    damages = {
        "no version": lambda log, run, result: log.pop("version"),
        "a misspelt member": lambda log, run, result: result.update(ruleid="x"),
        "no such level": lambda log, run, result: result.update(level="bad"),
        "no message": lambda log, run, result: result.pop("message"),
        "an address of text": lambda log, run, result: result["locations"][0]["physicalLocation"][
            "address"
        ].update(absoluteAddress="0x1"),
        "a line of 0": lambda log, run, result: result["locations"][0]["physicalLocation"].update(
            region={"startLine": 0}
        ),
        "no driver": lambda log, run, result: run["tool"].pop("driver"),
    }
    equal([what for what, change in damages.items() if not wrong(damaged(change))], [], "not noticed")


def clean(tool, options, command):
    options = options.split()
    expected = [int(o.removeprefix("status=")) for o in options if o.startswith("status=")]
    values = {"P": tool.programs, "S": SOURCES, "W": tool.work}
    for name, value in values.items():
        command = command.replace("{" + name + "}", value)
    data, _ = tool.record(shlex.split(command), expected[0] if expected else 0)
    result, status = tool.check(data)
    if result["findings"]:
        raise Failure(tool.text(data))
    equal(status, INCOMPLETE if "incomplete" in options else CLEAN, "status")
    explained = [int(o.removeprefix("explained=")) for o in options if o.startswith("explained=")]
    equal(result["explained"], explained[0] if explained else int("jit" in options), "explained findings")
    if "quick" in options:
        tool.both_ways(data)


def thread_that_loads(tool):
    """What one thread loads was not there when another began, though BTS records have no times."""
    data, _ = tool.record([os.path.join(tool.programs, "thread_loads")], options=["--source", "bts"])
    result, status = tool.check(data)
    if result["findings"]:
        raise Failure(tool.text(data))
    equal(status, CLEAN, "status")


def payloads(data):
    """Where trace lies in a recording: (offset, size) of what each AUXTRACE record carries."""
    at, size = struct.unpack_from("<QQ", data, 40)  # perf_file_header::data
    end = at + size
    out = []
    while at < end:
        kind, _, length, payload = struct.unpack_from("<IHHQ", data, at)
        at += length
        if kind == 71:
            out.append((at, payload))
            at += payload
    return out


def doubtful_formats(tool, data, count):
    """Every format says that all of a recording's findings are doubtful."""
    said = {
        form: subprocess.run(
            [tool.hodo, "check", "--format", form, "--allow-incomplete", data],
            capture_output=True, text=True, timeout=TIMEOUT, check=False,
        )
        for form in ("text", "html", "sarif")
    }  # fmt: skip
    equal({form: done.returncode for form, done in said.items()}, dict.fromkeys(said, INCOMPLETE), "status")
    equal(said["text"].stdout.count("impossible, doubtful, "), count, "in the text")
    equal(f"({count} doubtful)" in said["text"].stdout, True, "in the text's last line")
    equal(said["html"].stdout.count('<p class="dim">doubtful: '), count, "on the page")
    results = json.loads(said["sarif"].stdout)["runs"][0]["results"]
    equal([(r["level"], r["properties"]["doubtful"]) for r in results], [("note", True)] * count, "in SARIF")


def damage(tool, program):
    """Damage accuses nobody: what it makes of a clean program's trace is doubtful, and the check incomplete.

    Of what is damaged a little can fit the code by chance, to the end: of such nobody can tell that it is damage.
    """
    data, _ = tool.record([os.path.join(tool.programs, program)])
    with open(data, "rb") as file:
        clean_bytes = file.read()
    places = payloads(clean_bytes)
    doubtful = unnoticed = 0
    for seed in range(40):
        dice = random.Random(f"{program} {seed}")
        size = dice.choice([1, 2, 4, 8, 16, 64])
        at, length = dice.choices(places, [length for _, length in places])[0]
        at += dice.randrange(length - size)
        with open(data, "wb") as file:
            file.write(clean_bytes[:at] + bytes(size) + clean_bytes[at + size :])
        result, status = tool.check(data)
        found = [f for f in result["findings"] if not f["doubtful"]]
        if result["findings"] and doubtful == 0:
            doubtful_formats(tool, data, len(result["findings"]))
        doubtful += len(result["findings"])
        if not result["losses"]:
            unnoticed += bool(found)
        elif found or status != INCOMPLETE:
            raise Failure(f"seed {seed}, {size} bytes zeroed at {at}: status {status}\n{tool.text(data)}")
    equal(unnoticed < 5, True, "damage is noticed, but for chance")
    # Else nothing was tried.
    equal(doubtful > 0, True, "some damage leads to findings")


def cases():
    """{case: (function of a tool, quick)}"""
    out = {
        "hidden-file": (hidden_file, True),
        "options": (option_names, True),
        "table": (sums, True),
        "without-names": (without_names, True),
        "baseline": (baseline, True),
        "missing-file": (missing_file, True),
        "generators-name": (generators_name, True),
        "hostile-name": (hostile_name, True),
        "formats": (formats, True),
        "sarif-schema": (sarif_schema, True),
        "live": (live, True),
        "live-sources": (live_sources, True),
        "live-at-once": (live_at_once, True),
        "live-stop": (live_stop, True),
    }
    for form, first, others, rules, windows in forms():
        for program, suffix in (("hijacks", ""), ("hijacks_32", "_32")):
            if suffix and form in ONLY_64:
                continue
            a = (program, form, first, others)
            out[f"hijack{suffix}.{form}"] = (lambda t, a=a: hijack(t, *a), True)
            for source, found, how in (("bts", rules, ["--source", "bts"]), ("lbr", windows, WINDOWS)):
                a = (program, form, found, how)
                out[f"{source}{suffix}.{form}"] = (lambda t, a=a: by_records(t, *a), True)
    for how in ("", "_nopie", "_static", "_static_pie", "_cet", "_32", "_nopie_32", "_noplt_32"):
        out[f"sensitive{how}"] = (lambda t, p=f"sensitive{how}": sensitive_pointer(t, p), True)
    out["damage"] = (lambda t: damage(t, "threads"), True)
    out["bts.clean"] = (thread_that_loads, True)
    for rule, windows in OF_RECORDS.items():
        for source, how in [("bts", ["--source", "bts"])] + ([("lbr", WINDOWS)] if windows else []):
            out[f"{source}.{rule}"] = (lambda t, a=(rule, how): changed_record(t, *a), True)
    for program in ("hijacks", "hijacks_32"):
        out[f"bts.debugger.{program}"] = (lambda t, p=program: injected_record(t, p), True)
    for name, options, command in lines("clean.txt"):
        quick = "quick" in options.split()
        out[f"clean.{name}"] = (lambda t, a=(options, command): clean(t, *a), quick)
    return out


def run(name, function, options):
    work = os.path.join(options.work, name)
    try:
        function(Tool(options.hodo, options.programs, options.ways, work))
    except Skip as reason:
        print(f"{name}: skipped: {reason}")
        return SKIPPED
    except (Failure, subprocess.TimeoutExpired) as reason:
        print(f"{name}: {reason}\nkept: {work}")
        return 1
    shutil.rmtree(work)
    print(f"{name}: good")
    return 0


def main():
    global TIMEOUT
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true", help="print the quick cases and exit")
    parser.add_argument("--all", action="store_true", help="run every clean program")
    parser.add_argument("--hodo", default=os.path.join(SOURCES, "build/dev/src/cli/hodo"))
    parser.add_argument("--programs", default=os.path.join(SOURCES, "build/dev/tests/programs"))
    parser.add_argument("--ways", default=os.path.join(SOURCES, "build/dev/tests/check/check_ways"))
    parser.add_argument("--work", default=os.path.join(SOURCES, "build/dev/tests/check/work"))
    parser.add_argument("case", nargs="?")
    options = parser.parse_args()
    # Not this user's.
    os.environ["XDG_CACHE_HOME"] = os.path.abspath(options.work) + ".cache"
    known = cases()
    if options.list:
        print("\n".join(name for name, (_, quick) in known.items() if quick))
        return 0
    if options.all:
        TIMEOUT = PATIENCE
        names = [name for name in known if name.startswith("clean.")]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda name: run(name, known[name][0], options), names))
        good, skipped = results.count(0), results.count(SKIPPED)
        bad = len(results) - good - skipped
        print(f"{good} programs without a finding, {bad} with, {skipped} not installed")
        return 1 if bad else 0
    return run(options.case, known[options.case][0], options)


sys.exit(main())
