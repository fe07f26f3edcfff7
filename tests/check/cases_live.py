"""Judging while recording: `hodo record --check`."""

import os
import subprocess

from harness import CLEAN, FOUND, INCOMPLETE, SOURCES, TIMEOUT, Failure, equal, rules_of

RULES = [page.removesuffix(".md") for page in os.listdir(os.path.join(SOURCES, "docs/rules"))]


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
        # Findings begin a line, their further steps are indented.
        told = {line.split()[0] for line in done.stderr.splitlines() if line.strip()} & set(RULES)
        equal(told, rules_of(result), f"{command}: rules")
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
        if line.split()[:1] == ["chain.rop"] and recorder.poll() is None:
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


def live_suppressed(tool):
    """What somebody has looked at neither ends the program nor counts."""
    form = [os.path.join(tool.programs, "hijacks"), "hook-jump"]
    data, done = judged_while_recorded(tool, form, FOUND)
    result, _ = tool.check(data)
    lines = os.path.join(tool.work, "live.suppress")
    with open(lines, "w", encoding="utf-8") as out:
        for finding in result["findings"]:
            for step in [finding, *finding.get("steps", [])]:
                out.write(f"{step.get('suppression', finding['suppression'])} | it is a test\n")
    program = ["sh", "-c", f"'{form[0]}' hook-jump; echo late"]
    _, done = judged_while_recorded(tool, program, CLEAN, ["--on-finding", "stop", "--suppress", lines])
    equal("late" in done.stdout, True, "the program ran to its end")
    told = [line for line in done.stderr.splitlines() if line.split()[:1] and line.split()[0] in RULES]
    equal(told, [], "what is told as a finding")
    equal("it is a test" in done.stderr, True, f"the reason is told: {done.stderr}")
    equal(", 2 suppressed" in done.stderr.splitlines()[-1], True, done.stderr)


def cases():
    return {
        "live-suppressed": live_suppressed,
        "live": live,
        "live-sources": live_sources,
        "live-at-once": live_at_once,
        "live-stop": live_stop,
    }
