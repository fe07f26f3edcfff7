#!/usr/bin/python3
"""How quick `hodo view` is: records a program of --calls calls, opens it in a headless chromium with the index made, and
measures by the page's own clock

  first picture  from opening the address until the timeline's first pieces are drawn
  pieces         how long one takes to come, while the timeline is zoomed in to single calls and panned: median, 95 %, longest;
                 the page asks for them with `quick`; and how many it gave up as they were out of sight
  finer pieces   that the page asks for where it rests, as `quick` ones were too coarse
  frames         in a second, and the longest time between two, while keys zoom and pan; and those that the browser's own
                 tracing says were drawn
  memory         of the page's script, and of the browser's process that shows it
  transfer       bytes of the page itself, without answers

    bench/view.py --hodo build/release/src/cli/hodo --calls 100000000

Says nothing about the machine's other work: look at its load first.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "page"))

from chrome import Chrome  # noqa: E402
from harness import Bench, View  # noqa: E402

LONGEST = 900  # seconds, for an index and the first picture

# Notes what the page asks for and when frames are drawn.
WATCH = """
window.benchmark = {asked: [], frames: [], given_up: 0};
const plain = window.fetch;
window.fetch = async (where, how) => {
  const begin = performance.now();
  how.signal?.addEventListener("abort", () => ++benchmark.given_up);
  const answer = await plain(where, how);
  const copy = answer.clone();
  copy.arrayBuffer().then((bytes) => {
    const asked = JSON.parse(how.body);
    benchmark.asked.push({method: asked.method, quick: asked.params.quick === true, bytes: bytes.byteLength, begin, end: performance.now()});
  }).catch(() => undefined);
  return answer;
};
const frame = (now) => { benchmark.frames.push(now); requestAnimationFrame(frame); };
requestAnimationFrame(frame);
"""


def share(sorted_values, part):
    return sorted_values[min(len(sorted_values) - 1, int(part * len(sorted_values)))]


def renderer_memory(chrome):
    """Bytes of the largest process that shows pages."""
    largest = 0
    for name in os.listdir("/proc"):
        try:
            if not name.isdigit() or os.getpgid(int(name)) != chrome.process.pid:
                continue
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if b"--type=renderer" not in file.read():
                    continue
            with open(f"/proc/{name}/smaps_rollup", encoding="utf-8") as file:
                pss = next(line for line in file if line.startswith("Pss:"))
            largest = max(largest, 1024 * int(pss.split()[1]))
        except OSError:
            continue
    return largest


def open_page(view):
    chrome = view.chrome = Chrome()
    chrome.size(1280, 800)
    chrome.send("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    chrome.open(view.address)
    chrome.wait_for("window.benchmark && benchmark.asked.some(one => one.method === 'tile')", "the first piece", LONGEST)
    view.settled(LONGEST)


def first_picture(chrome):
    """The frame behind the last of the first pieces."""
    return chrome.run("""(() => {
      const tiles = benchmark.asked.filter(one => one.method === 'tile');
      const last = Math.max(...tiles.map(one => one.end));
      return benchmark.frames.find(at => at > last) ?? last; })()""")


def move(view, seconds):
    """Zooms in to single calls, pans, and out again, as keys that are held down do, but 60 a second: each may draw a frame."""
    chrome = view.chrome
    chrome.run("benchmark.asked.length = 0, benchmark.frames.length = 0, document.querySelector('#timeline').focus()")
    keys = "w" * 60 + "d" * 60 + "s" * 20 + "a" * 40 + "w" * 10 + "d" * 40 + "s" * 50
    begin = time.monotonic()
    count = 0
    while time.monotonic() - begin < seconds:
        chrome.key(keys[count % len(keys)])
        count += 1
        chrome.drain(max(0.0, begin + count / 60 - time.monotonic()))
    return chrome.run("benchmark")


def traced(chrome, action):
    """What the action returns, and how many frames a second the browser drew meanwhile, by its own tracing."""
    chrome.send("Tracing.start", transferMode="ReportEvents",
                traceConfig={"includedCategories": ["disabled-by-default-devtools.timeline.frame"], "excludedCategories": ["*"]})
    found = action()
    chrome.events.clear()
    chrome.send("Tracing.end")
    deadline = time.monotonic() + 30
    while not any(one.get("method") == "Tracing.tracingComplete" for one in chrome.events) and time.monotonic() < deadline:
        chrome.drain(0.2)
    drawn = sorted(event["ts"] for one in chrome.events if one.get("method") == "Tracing.dataCollected"
                   for event in one["params"]["value"] if event["name"] == "DrawFrame")
    return found, 1e6 * (len(drawn) - 1) / (drawn[-1] - drawn[0])


def rest(view, instructions):
    """Where the page rests it asks for all that hodo has: at places on all levels, how long until it is shown, in ms."""
    chrome, times = view.chrome, []
    for power in range(20, 34):
        span = 2 ** power
        for part in (0.2, 0.5, 0.7) if span < instructions / 4 else ():
            begin = int(instructions * part)
            chrome.run("benchmark.asked.length = 0")
            chrome.run(f"location.hash = 'view=report&axis=instructions&window={begin}-{begin + span}'")
            chrome.drain(0.3)
            chrome.wait_for("document.getElementById('timeline').getAttribute('aria-busy') === 'false'", "the pieces", LONGEST)
            times += chrome.run("benchmark.asked.filter(one => one.method === 'tile' && !one.quick).map(one => one.end - one.begin)")
    return sorted(times)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--hodo", required=True)
    words.add_argument("--calls", type=int, default=10_000_000)
    words.add_argument("--seconds", type=float, default=20, help="of zooming and panning")
    words.add_argument("--data", help="this recording instead of one of its own")
    options = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="hodo-view-") as work:
        bench = Bench(os.path.abspath(options.hodo), os.path.join(work, "bench"))
        data = options.data and os.path.abspath(options.data)
        if not data:
            program = os.path.join(work, "calls")
            subprocess.run(["gcc", "-O1", "-g", os.path.join(HERE, "programs", "calls.c"), "-o", program], check=True)
            data = os.path.join(work, "calls.data")
            subprocess.run([bench.hodo, "record", "-q", "--source", "dbi", "-o", data, "--", program, str(options.calls)], check=True,
                           stdout=subprocess.DEVNULL)
        print(f"{os.path.getsize(data) / 1e6:.0f} MB")
        begin = time.monotonic()
        with View(bench, data, browser=False) as view:
            open_page(view)
        print(f"first time, index and overview made: {time.monotonic() - begin:.1f} s")
        with View(bench, data, browser=False) as view:
            open_page(view)
            print(f"first picture   {first_picture(view.chrome):.0f} ms")
            transfer = view.chrome.run("""[...performance.getEntriesByType('navigation'),
                ...performance.getEntriesByType('resource').filter(one => one.initiatorType !== 'fetch')]
                .reduce((sum, one) => sum + one.transferSize, 0)""")
            found, drawn = traced(view.chrome, lambda: move(view, options.seconds))
            tiles = [one for one in found["asked"] if one["method"] == "tile"]
            frames = found["frames"]
            gaps = sorted(b - a for a, b in zip(frames, frames[1:]))
            times = sorted(one["end"] - one["begin"] for one in tiles if one["quick"])
            print(f"pieces          {len(times)}: {share(times, .5):.0f} ms, 95 % {share(times, .95):.0f}, longest {times[-1]:.0f}")
            sizes = sorted(one["bytes"] for one in tiles)
            print(f"size of one     {share(sizes, .5) / 1e3:.0f} KB, 95 % {share(sizes, .95) / 1e3:.0f}; given up: {found['given_up']}")
            print(f"frames          {1000 * len(gaps) / (frames[-1] - frames[0]):.1f} a second, {drawn:.1f} drawn by the browser's "
                  f"tracing; between two 95 % {share(gaps, .95):.0f} ms, longest {gaps[-1]:.0f}")
            print(f"memory          {view.chrome.run('performance.memory.usedJSHeapSize') / 1e6:.0f} MB of the script, "
                  f"{renderer_memory(view.chrome) / 1e6:.0f} MB of the process")
            print(f"transfer        {transfer / 1e3:.0f} KB")
            times = rest(view, int(view.texts(".chip")[0].split()[0].replace(",", "")))
            if times:
                print(f"finer pieces    {len(times)}: {share(times, .5):.0f} ms, 95 % {share(times, .95):.0f}, longest {times[-1]:.0f}")


main()
