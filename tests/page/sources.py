"""Recordings of other sources than a program's own Intel PT: what the page says of them, and what it says that nobody knows."""

import collections
import csv
import json
import os
import signal
import subprocess

import harness
from harness import Failure, View, equal, grouped


def ask_tile(view, **params):
    question = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tile", "params": params})
    return view.chrome.run("fetch('rpc', {method: 'POST', headers: {'Content-Type': 'application/json', 'X-Hodo-Token':"
                           f" location.pathname.split('/')[1]}}, body: {json.dumps(question)}}}).then(r => r.json())")["result"]


def opened(bench, view, file, source):
    """Its numbers are the commands'."""
    stats, scene = bench.json("stats", file, statuses=(0, 3)), bench.json("show", "end", file, statuses=(0, 3))
    view.settled()
    equal(view.texts(".chip")[0], f"{grouped(stats['instructions'])} instructions", f"the head of {source}")
    total = f"{grouped(stats['instructions'])} instructions in all"
    view.until(f"document.querySelector('.flame .detail')?.innerText.startsWith({json.dumps(total)})", f"the flame graph of {source}")
    view.go("view=where&at=end")
    equal(view.texts(".open-calls .fn"), [call["function"] for call in scene["calls"]], f"the open calls of {source}")
    equal(len(view.texts(".calls .trouble")), int(bool(scene["lost_before"])), f"whether {source} tells that something was lost before")


def axes(view):
    return view.texts(".timeline-tools [role=group] button")


def records(bench):
    """BTS records: all branches that were taken, and times."""
    file = os.path.join(bench.work, "bts.data")
    bench.run("record", "-q", "--source", "bts", "-o", file, "--", bench.program())
    listed = bench.json("list", "handle", file)["calls"]
    with View(bench, file) as view:
        opened(bench, view, file, "bts")
        equal("samples" in " ".join(view.texts(".banner p, .chip")), False, "whether bts is told to be samples")
        equal(axes(view), ["Time", "Instructions"], "the axes of bts")
        view.go("view=calls&fn=handle")
        equal([(row[0], row[1]) for row in view.rows("Calls")], [(f"#{one['number']}", grouped(one["instructions"])) for one in listed], "the calls")


def samples(bench):
    """Branch stacks: what the page does not know it says, and shows nothing that would need it."""
    file = os.path.join(bench.work, "lbr.data")
    bench.run("record", "-q", "--source", "lbr", "-o", file, "--", bench.program())
    kinds = collections.Counter(row["kind"] for row in csv.DictReader(bench.run("branches", file, "--format", "csv").splitlines()))
    with View(bench, file) as view:
        opened(bench, view, file, "lbr")
        told = " ".join(view.texts(".banner p"))
        for words in ("These are samples", "What ran between them is not known", "how long a call took", "how many calls there were", "which calls were open"):
            if words not in told:
                raise Failure(f"{words!r} is not told, but {told!r}")
        equal(view.texts(".recording .chip")[-1], "samples", "the state of samples")
        equal(axes(view), [], "axes to choose")
        # Each sample begins with a line.
        ran = bench.json("stats", file)["instructions"]
        thread = bench.json("show", "end", file)["moment"].split(":")[0]
        marks = ask_tile(view, thread=thread, axis="instructions", to=ran, width=16384, **{"from": 0})["marks"]
        equal(sum(one["count"] for one in marks if one["kind"] == "sample"), kinds["begin"], "samples that are marked")
        view.go("view=flame")
        equal("Time" in view.texts(".flame .tools button"), False, "whether times are added up")
        function = bench.json("report", file)["functions"][0]["function"]
        view.go(f"view=calls&fn={function}")
        equal("Took" in " ".join(view.texts("table[aria-label=Calls] th")), False, "whether calls are said to have taken time")


# Goes on until it is told to end, calling.
LASTING = """#include <signal.h>
#include <unistd.h>
static volatile int ended;
static void end(int number) { (void)number; ended = 1; }
__attribute__((noinline)) static void turn(void) { static volatile int n; ++n; }
int main(void) {
  signal(SIGTERM, end);
  while (!ended) turn(), usleep(100);
}
"""


def attached(bench):
    """A process that hodo attached to, looked at while it is recorded: it grows in the view, and is complete in the end."""
    program, file = os.path.join(bench.work, "lasting"), os.path.join(bench.work, "attached.data")
    subprocess.run(["cc", "-g", "-O1", "-x", "c", "-", "-o", program], input=LASTING, text=True, check=True, timeout=harness.WAIT)
    process = subprocess.Popen([program])
    recorder = None
    try:
        recorder = subprocess.Popen([bench.hodo, "record", "-q", "-p", str(process.pid), "-o", file], cwd=bench.work, env=bench.environment,
                                    stderr=subprocess.PIPE, text=True)
        harness.wait_until(lambda: recorder.poll() is not None or os.path.exists(file) and os.path.getsize(file) > 20_000, "the recording's beginning")
        if recorder.poll() is not None:
            raise Failure(f"hodo record -p: {recorder.stderr.read()}")
        with View(bench, file) as view:
            view.settled()
            ran = "parseInt(document.querySelector('.chip').innerText.replaceAll(',', ''))"
            equal(view.texts(".recording .chip")[-1], "still being recorded", "the state while it is recorded")
            before = view.chrome.run(ran)
            view.until(f"{ran} > {before}", "that it grows")
            recorder.send_signal(signal.SIGINT)
            recorder.wait(harness.WAIT)
            view.until("[...document.querySelectorAll('.recording .chip')].at(-1).innerText === 'complete'", "that it is complete")
            opened(bench, view, file, "what was attached to")
            calls = bench.json("list", "turn", file)["count"]
            view.go("view=calls&fn=turn")
            equal(view.texts(".panel .caption")[0].split(" ")[0], grouped(calls), "the calls")
    finally:
        process.terminate()
        process.wait(10)
        if recorder is not None:
            recorder.kill()
            recorder.wait()
            recorder.stderr.close()


def grown(bench):
    """A recording that is still being written is followed; one that was replaced is told of."""
    file, growing = bench.recording(), os.path.join(bench.work, "growing.data")
    with open(file, "rb") as whole:
        content = whole.read()
    with open(growing, "wb") as some:
        some.write(content[:len(content) // 2])
    ran = f"{grouped(bench.json('report', file)['instructions'])} instructions"
    with View(bench, growing) as view:
        view.settled()
        if view.texts(".chip")[0] == ran:
            raise Failure("half of the recording has all of its instructions")
        # What is cut off in the midst of a record is still being written.
        equal(view.texts(".recording .chip")[-1], "still being recorded", "the state of half of it")
        thread = view.hash()["thread"]
        with open(growing, "ab") as more:
            more.write(content[len(content) // 2:])
        view.until(f"document.querySelector('.chip').innerText === {json.dumps(ran)}", "what has come since")
        view.until("document.querySelector('.chip.good')?.innerText === 'complete'", "that it is complete now")
        total = f"{ran} in all"
        view.until(f"document.querySelector('.flame .detail')?.innerText.startsWith({json.dumps(total)})", "its flame graph")
        equal(view.hash()["thread"], thread, "the thread that is looked at")
        os.replace(bench.recording(crash=True), growing)
        view.until("/was replaced/.test(document.querySelector('.banner').innerText)", "that the file was replaced")
        view.chrome.click_on(".banner button")
        view.until("!document.querySelector('.banner')?.innerText && document.querySelector('.view')", "the file as it is now")


SOURCES = (records, samples, attached, grown)
