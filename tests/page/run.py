#!/usr/bin/env python3
"""run.py CASE HODO WORK: the page of `hodo view` in a headless chromium, held against what the commands say."""

import json
import os
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tile import in_slices  # noqa: E402
import harness  # noqa: E402
from harness import Failure, View, equal, grouped  # noqa: E402
from machine import MACHINE  # noqa: E402
from security import SECURITY  # noqa: E402
from sources import SOURCES  # noqa: E402
from stories import STORIES  # noqa: E402

HOSTILE = "<script>document.title='taken'</script>"


def moments(bench):
    """Where a process ended, and where steps lead from there."""
    file = bench.recording(crash=True)
    scene = bench.json("show", "crash", file)
    with View(bench, file, "--at", "crash") as view:
        view.settled()
        equal(view.texts(".tools .moment"), [scene["moment"]], "the moment")
        equal(view.texts(".open-calls .fn"), [call["function"] for call in scene["calls"]], "the open calls")
        around = scene["before"] + scene["after"]
        equal(view.texts(".branches td:first-child button"), [grouped(one["number"]) for one in around], "the branches around")
        view.until("document.querySelector('.machine .here')", "the code")
        equal(view.texts(".here-row td"), [f"▸ {scene['instruction']}"], "the instruction")
        equal(view.chrome.run("document.querySelector('.machine .here').dataset.address"), scene["stands_at"]["address"], "where it stands")
        equal(view.texts(".source .here .line-number"), [str(scene["stands_at"]["line"])], "the source line")
        # Back by a line, by the key; forward again by the browser's history.
        back = scene["steps"]["line"]["back"]
        view.chrome.key("S", shift=True)
        view.until(f"document.querySelector('.tools .moment').innerText === {json.dumps(back)}", f"the moment {back}")
        equal(view.hash()["at"], back, "the address")
        view.chrome.run("history.back()")
        view.until(f"document.querySelector('.tools .moment').innerText === {json.dumps(scene['moment'])}", "the way back")
        # By a click, out of the innermost call.
        view.chrome.click_on("button[aria-label^='Back out of']")
        out = scene["steps"]["out"]["back"]
        view.until(f"document.querySelector('.tools .moment').innerText === {json.dumps(out)}", f"the moment {out}")
        # Where the call was entered.
        entered = bench.json("show", out, file)["calls"][0]["entered"]
        view.settled()
        view.chrome.click_on(".open-calls .fn")
        view.until(f"document.querySelector('.tools .moment').innerText === {json.dumps(entered)}", f"the moment {entered}")
        equal(view.texts(".chip")[0], f"{grouped(bench.json('report', file)['instructions'])} instructions", "the head")


def timeline(bench):
    """From call to call by the keys, looked closer at, selected, and added up in the flame graph and the call tree."""
    file = bench.recording()
    report, slow = bench.json("report", file), bench.json("list", "slow", file)["calls"][0]
    with View(bench, file) as view:
        view.until("document.querySelector('.flame-graph canvas')", "the flame graph")
        view.until("/ in all/.test(document.querySelector('.detail').innerText)", "its sum")
        equal(view.texts(".detail"), [f"{grouped(report['instructions'])} instructions in all. Click a box to look closer."], "the sum")
        # Down from the first call to the slow request's own.
        view.until("document.getElementById('timeline').getAttribute('aria-busy') === 'false'", "the timeline's pieces")
        view.chrome.key("t")
        equal(view.chrome.run("document.activeElement.id"), "timeline", "where t leads")
        heard = "document.getElementById('live').innerText"
        view.chrome.key("ArrowRight")
        view.until(f"/, depth 1, at [0-9]+:1$/.test({heard})", "the first call")
        view.go(f"view=where&at={slow['moment']}")
        equal(view.texts(".open-calls .fn")[0], "slow", "the call of slow")
        tile = ("fetch('rpc', {method: 'POST', headers: {'Content-Type': 'application/json', 'X-Hodo-Token': location.pathname.split('/')[1]},"
                " body: JSON.stringify({jsonrpc: '2.0', id: 1, method: 'tile', params: {thread: '%s', axis: 'instructions', from: 0, to: %d,"
                " width: 4096}})}).then(r => r.json())" % (slow["moment"].split(":")[0], report["instructions"]))
        answer = in_slices(view.chrome.run(tile)["result"])
        slices = [(depth["depth"], one) for depth in answer["rows"] for one in depth["slices"]
                  if one["name"] >= 0 and answer["names"][one["name"]]["name"] == "slow"]
        equal(len(slices), 1, "slices of slow")
        depth, piece = slices[0]
        equal((piece["moment"], piece["to"] - piece["from"]), (slow["moment"], slow["instructions"]), "the slice of slow")
        # A click where it is drawn selects it; Enter shows its code, of this call alone.
        view.go(f"view=where&axis=instructions&window=0-{report['instructions']}")
        left, top, width = view.chrome.run("(() => { const b = document.getElementById('timeline').getBoundingClientRect(); return [b.left, b.top, b.width]; })()")
        text = view.chrome.run("parseFloat(getComputedStyle(document.documentElement).fontSize)")
        x = left + width * (piece["from"] + piece["to"]) / 2 / report["instructions"]
        y = top + round(text * 1.6) + round(text * 0.55) + (depth + 0.5) * round(text * 1.36)
        view.until("document.getElementById('timeline').getAttribute('aria-busy') === 'false'", "the timeline's pieces")
        view.chrome.click(x, y)
        view.until(f"location.hash.includes('at={slow['moment']}')", "the call that was clicked")
        view.chrome.key("r")
        view.until(f"location.hash.includes('range={piece['from']}-{piece['to']}')", "the range of the call")
        view.chrome.key("2")
        total = f"{grouped(slow['instructions'])} instructions in all"
        view.until(f"document.querySelector('.flame .detail')?.innerText.startsWith({json.dumps(total)})", "the sum of the call alone")
        view.chrome.key("3")
        view.until("[...document.querySelectorAll('.tree .fn')].some(e => e.innerText === 'work')", "the hot path")
        rows = {row[4][1:].split()[0]: row for row in reversed(view.rows("Call tree"))}
        equal((rows["slow"][0].split()[0], rows["slow"][2]), (grouped(slow["instructions"]), "1"), "slow in the call tree of its range")
        equal(rows["work"][2], "30", "calls of work within slow")
        view.chrome.key("t")
        view.chrome.key("Enter")
        view.until("document.querySelector('.caption')?.innerText.startsWith('slow of program, entered 1 time')", "the code of slow")

# Notes which pieces of the timeline the page asks for; ended: none, while it waits for the answer's beginning.
ASKED_PIECES = """
window.pieces = [];
const plain = window.fetch;
window.fetch = (where, how) => {
  const {method, params} = JSON.parse(how.body);
  if (method !== "tile") return plain(where, how);
  const one = {key: JSON.stringify({...params, quick: undefined}), quick: params.quick === true, begun: performance.now(), given_up: false};
  pieces.push(one);
  const end = () => { one.ended = performance.now(); };
  how.signal?.addEventListener("abort", () => { one.given_up = true; end(); });
  return plain(where, how).finally(end);
};
"""


def pieces(bench):
    """hodo makes one piece at a time: the page asks for the next when one has come, for none twice, and gives up a finer one, which
    takes longer, where a first one is wanted."""
    program, file = os.path.join(bench.work, "calls"), os.path.join(bench.work, "calls.data")
    subprocess.run(["cc", "-O1", "-o", program, os.path.join(harness.HERE, "..", "..", "bench", "programs", "calls.c")], check=True)
    bench.run("record", "-o", file, "--", program, "12000000")
    at_rest = "document.getElementById('timeline').getAttribute('aria-busy') === 'false'"
    with View(bench, file) as view:
        view.until(at_rest, "the timeline's pieces")
        view.chrome.run(ASKED_PIECES)
        whole = bench.json("report", file)["instructions"]

        def look_at(part, span):
            begin = int(whole * part)
            view.chrome.run(f"location.hash = 'view=report&axis=instructions&window={begin}-{begin + span}'")

        # How much of it is finer than what hodo knows of the whole is hodo's matter.
        spans = [2 ** power for power in range(24, 16, -1)]
        for span in spans:
            view.chrome.run("pieces.length = 0")
            look_at(0.3, span)
            view.chrome.drain(0.4)
            view.until(at_rest, "the finer pieces")
            asked = view.chrome.run("pieces")
            if any(not one["quick"] for one in asked):
                break
        else:
            raise Failure(f"no finer pieces in spans of {spans}")
        for one in asked:
            if sum((other["key"], other["quick"]) == (one["key"], one["quick"]) for other in asked) > 1:
                raise Failure(f"asked for twice: {one}")
        for before, after in zip(asked, asked[1:]):
            if after["begun"] < before["ended"]:
                raise Failure(f"asked for {after} while {before} was made")
        view.chrome.run("pieces.length = 0")
        look_at(0.7, span)
        view.until("pieces.some(one => !one.quick && !one.ended)", "a finer piece that is being made")
        view.chrome.key("t")
        for _ in range(2):
            view.chrome.key("d")
        view.until("pieces.some(one => !one.quick && one.given_up)", "that it is given up")
        view.until(at_rest, "the pieces behind it")


def code(bench):
    """A function found by its name: its code, and its calls."""
    file = bench.recording()
    listed = bench.json("list", "handle", file)
    annotated = bench.json("annotate", "handle", file)
    with View(bench, file) as view:
        view.chrome.key("/")
        view.chrome.type("hand")
        view.until("[...document.querySelectorAll('#found .fn')].some(e => e.innerText === 'handle')", "the function in the search")
        view.chrome.key("Enter")
        view.until("document.querySelector('.machine .row')", "the code")
        # A call is of a name.
        equal(view.texts(".machine .row button.link")[-1], "work", "the last call of handle")
        counts = [grouped(one["count"]) for block in annotated["blocks"] for one in block["instructions"]]
        equal(view.texts(".machine .row .count"), counts, "the counts of instructions")
        lines = {}
        for block in annotated["blocks"]:
            for one in block["instructions"]:
                lines[one["line"]] = max(lines.get(one["line"], 0), one["count"])
        shown = view.chrome.run("[...document.querySelectorAll('.source .ran')].map(e => [+e.querySelector('.line-number').innerText,"
                                " e.querySelector('.count').innerText, e.querySelector('.text').innerText.trim()])")
        equal({line: number for line, number, _ in shown}, {line: grouped(number) for line, number in lines.items()}, "the counts of lines")
        if "return slow(id);" not in [text for _, _, text in shown]:
            raise Failure(f"the source is not shown: {shown}")
        equal(view.texts(".source .newer"), [], "a source file that is older than the program")
        view.go("view=calls&fn=handle")
        rows = view.rows("Calls")
        equal([(row[0], row[1]) for row in rows], [(f"#{one['number']}", grouped(one["instructions"])) for one in listed["calls"]], "the calls")
        # The slow one comes first, and leads to its moment.
        view.chrome.click_on("button[aria-label='Sort by Instructions']")
        slowest = max(listed["calls"], key=lambda one: one["instructions"])
        equal(view.rows("Calls")[0][0], f"#{slowest['number']}", "the slowest call")
        equal(slowest["number"], 18, "the slow request")
        view.chrome.click_on("table[aria-label=Calls] tbody tr")
        view.until(f"document.querySelector('.tools .moment')?.innerText === {json.dumps(slowest['moment'])}", "the slow call's moment")
    program = os.stat(bench.program())
    os.utime(bench.program(), (0, 0))
    try:
        with View(bench, file) as view:
            view.go("view=code&fn=handle")
            view.until("document.querySelector('.machine .row')", "the code")
            equal(view.texts(".source .newer"), ["program.c is newer than program: its lines may be others now"],
                  "a source file that is newer than the program")
    finally:
        os.utime(bench.program(), (program.st_atime, program.st_mtime))


def searches(bench):
    """What is found is a moment, whatever it is: the one that the commands name."""
    file = bench.recording()
    first = bench.json("list", "handle", file)["calls"][0]["moment"]
    address = bench.json("annotate", "handle", file)["blocks"][0]["instructions"][0]["address"]
    process = bench.json("crash", file)["processes"][0]["pid"]
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.c")
    with open(source, encoding="utf-8") as text:
        line = next(number for number, words in enumerate(text, 1) if "return slow(id);" in words)
    with View(bench, file) as view:
        view.settled()
        for typed, kind, moment in (("handle", "function", first), (f"program.c:{line}", "line", f"line:{source}:{line}"), (address, "address", f"at:{address}"),
                                    (str(process), "process", f"start:{process}"), ("program.c", "file", None)):
            view.chrome.key("/")
            view.chrome.run("document.getElementById('search').value = ''")
            view.chrome.type(typed)
            view.until(f"document.querySelector('#found .on .kind')?.innerText === {json.dumps(kind)}", f"the {kind} {typed}")
            view.chrome.key("Enter")
            view.until("!document.getElementById('found').classList.contains('on')", f"that {typed} is chosen")
            view.settled()
            at = bench.json("show", view.hash()["at"], file)
            if moment is not None:
                equal(at["moment"], bench.json("show", moment, file)["moment"], f"the moment of the {kind} {typed}")
            elif not at["stands_at"].get("file", "").endswith(typed):
                raise Failure(f"{typed} leads to {at['stands_at']}")


def walks(bench):
    """To a line's next execution, the flow graph, notes that stay, and where two runs part."""
    good, bad = bench.recording(), bench.recording(crash=True)
    first = bench.json("list", "handle", good)["calls"][0]["moment"]
    annotated = bench.json("annotate", "handle", good)
    text = annotated["blocks"][0]["instructions"][0]["address"]
    there = bench.json("show", first, good, "--next", text)["moment"]
    parted = bench.json("diff", good, bad)["paths"][0]["first"]
    with View(bench, "--diff", good, bad) as view:
        view.settled()
        equal(view.texts(".side h4"), [f"A at {parted['a']['moment']}", f"B at {parted['b']['moment']}"], "where they part")
        view.go(f"view=code&fn=handle&at={first}")
        view.until("document.querySelector('.machine .row')", "the code")
        view.chrome.mouse("mouseMoved", *view.chrome.middle_of(f".machine [data-address='{text}']"))
        view.chrome.click_on(f".machine [data-address='{text}'] button[aria-label^='When'][aria-label*='next']")
        view.until(f"location.hash.includes('at={there}')", f"the next execution, {there}")
        view.chrome.click_on("[data-value=graph]")
        view.until("document.querySelector('.graph svg g[id^=b-0x]')", "the flow graph")
        blocks = view.chrome.run("[...document.querySelectorAll('.graph g[id^=b-0x]')].map(e => e.id.slice(2))")
        equal(sorted(blocks), sorted(one["address"] for one in annotated["blocks"]), "the blocks of the graph")
        view.chrome.key("b")
        view.until("document.querySelector('.note textarea')", "a note to write")
        view.chrome.type("here it <b>begins")
        view.chrome.key("Tab")
        view.until("document.getElementById('live').innerText === 'Kept.'", "that the note is kept")
        with open(good + ".notes.json", encoding="utf-8") as file:
            equal(json.load(file), [{"moment": there, "text": "here it <b>begins"}], "the notes beside the recording")


def reports(bench):
    """Report, findings, coverage and processes say what the commands do."""
    file = bench.recording(crash=True)
    report, check = bench.json("report", file), bench.json("check", file)
    coverage, ends = bench.json("coverage", file), bench.json("crash", file)
    with View(bench, file) as view:
        view.go("view=report")
        equal([(row[0], row[2]) for row in view.rows("Hottest functions")],
              [(grouped(one["instructions"]), grouped(one["calls"])) for one in report["functions"]], "the hottest functions")
        facts = dict(zip(view.texts(".facts dt"), view.texts(".facts dd")))
        for kind, number in report["branches"]["kinds"].items():
            if number:
                equal(facts[kind], grouped(number), f"branches of kind {kind}")
        view.go("view=findings")
        equal(len(view.texts(".finding")), len(check["findings"]), "the findings")
        if f"{grouped(check['branches'])} branches were judged" not in view.chrome.run("document.querySelector('.panel').innerText"):
            raise Failure("the number of judged branches is not shown")
        view.go("view=coverage")
        files = {row[3]: row[1] for row in view.rows("Files")}
        for module in coverage["modules"]:
            name = module["path"].rsplit("/", 1)[-1]
            equal(files[name], f"{grouped(module['functions_hit'])} of {grouped(module['functions_total'])}", f"the functions of {name}")
        view.go("view=processes")
        ended = ends["processes"][0]
        if ended["ended"] not in " ".join(view.texts(".process p")):
            raise Failure(f"{ended['ended']!r} is not shown")
        view.chrome.click_on(".process p button")
        view.until(f"document.querySelector('.tools .moment')?.innerText === {json.dumps(ended['threads'][0]['moment'])}", "where it ended")


def marks(bench):
    """What was found and where the process ended is marked in the timeline, on both axes."""
    bench.run("record", "-o", "marked.data", "--", bench.program(), "crash", "hijack", statuses=(139,))
    equal(len(bench.json("check", "marked.data")["findings"]), 1, "findings of a call into the middle of a function")
    moment = bench.json("show", "finding:1", "marked.data")
    report = bench.json("report", "marked.data")
    with View(bench, "marked.data") as view:
        view.chrome.key("6")
        view.until("document.querySelector('.finding')", "the finding")
        where = {}
        for axis, length in (("instructions", report["instructions"]), ("time", 10 ** 12)):
            question = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tile", "params": {
                "thread": moment["moment"].split(":")[0], "axis": axis, "from": 0, "to": length}})
            tile = view.chrome.run("fetch('rpc', {method: 'POST', headers: {'Content-Type': 'application/json', 'X-Hodo-Token':"
                                   f" location.pathname.split('/')[1]}}, body: {json.dumps(question)}}}).then(r => r.json())")["result"]
            where[axis] = {one["kind"]: one["at"] for one in tile["marks"]}
            equal({"finding", "end"} - where[axis].keys(), set(), f"kinds of marks that the axis of {axis} lacks")
        equal(where["instructions"], {**where["instructions"], "finding": moment["ran"] + 1, "end": report["instructions"]}, "the marks' places")


def hostile(bench):
    """Names of the recorded program are text, whatever they are, and keep to their place."""
    file = bench.recording()
    with View(bench, file) as view:
        view.go("view=coverage")
        files = [row[-1] for row in view.rows("Files")]  # on Debian 13 the vDSO runs, too
        view.chrome.click_on(f"table[aria-label=Files] tbody tr:nth-child({files.index('program') + 1})")
        view.until("document.querySelector(\"table[aria-label='Functions of program']\")", "the program's functions")
        names = [row[2] for row in view.rows("Functions of program")]
        for name in (HOSTILE, "left\\u{202e}thgir", "escape\\u{1b}[31mred", "<img src=x onerror=document.title='taken'>"):
            if name not in names:
                raise Failure(f"{name!r} is not among {[one[:80] for one in names]}")
        equal([len(name) for name in names if name.startswith("long_name")], [120], "the long name's length")
        view.go("view=calls&fn=" + urllib.parse.quote(HOSTILE))
        equal(len(view.rows("Calls")), 1, "calls of the function with the hostile name")
        view.go("view=code&fn=" + urllib.parse.quote(HOSTILE))
        view.until("document.querySelector('.machine .row')", "its code")
        view.go("view=where&at=" + urllib.parse.quote(f"call:{HOSTILE}"))
        equal(view.texts(".open-calls .fn")[0], HOSTILE, "the open call")
        equal(view.chrome.run("document.querySelectorAll('img, script:not([src])').length"), 0, "elements that a name has made")
        if "taken" in view.chrome.run("document.title"):
            raise Failure("a name was run")
        # What is wrong in the address is said, and harms nothing.
        view.chrome.run("location.hash = 'view=where&at=%3Cimg%20src%3Dx%3E&range=9-1&window=-5-x'")
        view.until("document.querySelector('.panel [role=alert]')", "that there is no such moment")


def keys(bench):
    """Everything without a mouse, and said aloud."""
    file = bench.recording(crash=True)
    with View(bench, file, "--at", "crash") as view:
        view.settled()
        for number, name in enumerate(("where", "flame", "tree", "code", "calls", "findings", "report", "coverage", "processes"), 1):
            view.chrome.key(str(number))
            view.until(f"document.querySelector('#tab-{name}').getAttribute('aria-selected') === 'true'", f"the view {name}")
        view.chrome.key("ArrowRight")
        view.until("document.querySelector('#tab-diff').getAttribute('aria-selected') === 'true'", "the next tab")
        view.chrome.key("?")
        view.until("document.querySelector('dialog[open]')", "the keys")
        view.chrome.key("Escape")
        view.until("!document.querySelector('dialog[open]')", "that they are gone")
        dark = view.chrome.run("getComputedStyle(document.documentElement).getPropertyValue('--scheme')")
        view.chrome.key("l")
        view.until(f"getComputedStyle(document.documentElement).getPropertyValue('--scheme') !== {json.dumps(dark)}", "other colours")
        view.chrome.key("k", ctrl=True)
        equal(view.chrome.run("document.activeElement.id"), "search", "where Ctrl-K leads")
        view.chrome.key("Escape")
        unnamed = view.chrome.run("""[...document.querySelectorAll('button, input, canvas[tabindex], [role=application]')]
            .filter(e => !(e.getAttribute('aria-label') || e.innerText.trim())).map(e => e.outerHTML.slice(0, 200))""")
        equal(unnamed, [], "controls without a name")


# What a browser tells a screen reader of each element that one can come to or use.
CONTROLS = {"button", "link", "textbox", "searchbox", "combobox", "tab", "option", "checkbox", "slider", "splitter", "menuitem",
            "application", "Canvas", "canvas"}


def unnamed(view):
    nodes = view.chrome.send("Accessibility.getFullAXTree")["nodes"]
    out = []
    for node in nodes:
        role = node.get("role", {}).get("value", "")
        focusable = any(one["name"] == "focusable" and one["value"].get("value") for one in node.get("properties", []))
        if node.get("ignored") or role in ("RootWebArea", "row", "tabpanel", "dialog") or not (role in CONTROLS or focusable):
            continue
        if not node.get("name", {}).get("value", "").strip():
            out.append((role, node.get("backendDOMNodeId")))
    return out


# Every control that can be seen and used, and whether the Tab key has come to it.
REACHED = """(() => {
  window.reached ??= new Set();
  const on = document.activeElement;
  if (on && on !== document.body) reached.add(on);
  const all = [...document.querySelectorAll('button, input, textarea, select, a[href], [tabindex]')].filter(one =>
    !one.disabled && one.tabIndex >= 0 && one.checkVisibility({visibilityProperty: true}));
  return [all.length, all.filter(one => !reached.has(one)).map(one => one.outerHTML.slice(0, 120))];
})()"""


def reach(view):
    """By Tab to every control of the view; each says that it has the focus."""
    view.chrome.run("window.reached = new Set(), document.activeElement?.blur()")
    # Twice around: what the page draws meanwhile may move the focus on.
    for _ in range(2 * (view.chrome.run(REACHED)[0] + 20)):
        view.chrome.key("Tab")
        if not view.chrome.run(REACHED)[1]:
            break
        shown = view.chrome.run("""(() => { const one = document.activeElement, style = getComputedStyle(one);
            return one === document.body || (one.matches(':focus-visible') && style.outlineStyle !== 'none' && style.outlineWidth !== '0px'); })()""")
        if not shown:
            raise Failure(f"the focus is not seen on {view.chrome.run('document.activeElement.outerHTML.slice(0, 200)')}")
    equal(view.chrome.run(REACHED)[1], [], "controls that the keyboard does not come to")


def by_keyboard(bench):
    """In every view: each control has a name, and is reached by Tab."""
    good, bad = bench.recording(), bench.recording(crash=True)
    slow = bench.json("list", "slow", good)["calls"][0]["moment"]
    with View(bench, "--diff", good, bad) as view:
        view.settled()
        for name in ("where", "flame", "tree", "code", "calls", "findings", "report", "coverage", "processes", "diff", "notes"):
            view.go(f"view={name}&at={slow}&fn=handle&other={urllib.parse.quote(bad)}")
            view.until("document.getElementById('timeline').getAttribute('aria-busy') === 'false'", "the timeline's pieces")
            equal(unnamed(view), [], f"controls without a name in {name}")
            cut = view.chrome.run("[...document.querySelectorAll('td.number')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)")
            equal(cut, [], f"numbers that are cut off in {name}")
            reach(view)
        view.chrome.run("document.activeElement?.blur()")  # a field would take it as a letter
        view.chrome.key("?")
        view.until("document.querySelector('dialog[open]')", "the keys")
        equal(unnamed(view), [], "controls without a name among the keys")


def flames(bench):
    """Two recordings, and two calls, as flame graphs against each other."""
    good, bad = bench.recording(), bench.recording(crash=True)
    sums = [bench.json("report", file)["instructions"] for file in (good, bad)]
    calls = bench.json("list", "handle", good)["calls"]
    with View(bench, "--diff", good, bad) as view:
        view.settled()
        view.chrome.click_on("button[aria-label^='What both sides']")
        told = f"{grouped(sums[0])} instructions in A, {grouped(sums[1])} instructions in B."
        view.until(f"document.querySelector('.flame .detail')?.innerText.includes({json.dumps(told)})", "both sums")
        # A click on the first row's box says both shares.
        x, _ = view.chrome.middle_of(".flame-graph canvas")
        top = view.chrome.run("document.querySelector('.flame-graph canvas').getBoundingClientRect().top")
        view.chrome.click(x, top + 30)
        view.until("/ % in A, .* % in B/.test(document.querySelector('.flame .detail').innerText)", "both shares of a function")
        view.chrome.click_on("[data-value=ours]")
        view.until(f"document.querySelector('.flame .detail')?.innerText.startsWith({json.dumps(grouped(sums[0]) + ' instructions in all')})", "A alone")
        view.go("view=diff&other=" + urllib.parse.quote("handle#17 handle#18"))
        view.chrome.click_on("button[aria-label^='What both sides']")
        told = f"{grouped(calls[16]['instructions'])} instructions in the range compared with, {grouped(calls[17]['instructions'])} instructions in this one."
        view.until(f"document.querySelector('.flame .detail')?.innerText.includes({json.dumps(told)})", "both calls' sums")


def sandwich(bench):
    """Who calls a function and whom it calls, as the list of its calls has it."""
    file = bench.recording()
    calls = bench.json("list", "work", file)["calls"]
    of = {}
    for one in calls:
        of[one["caller"]] = of.get(one["caller"], 0) + one["instructions"]
    whole = sum(of.values())
    with View(bench, file) as view:
        view.go("view=flame&fn=work")
        view.chrome.click_on("[data-value=sandwich]")
        view.until(f"document.querySelector('.flame .detail')?.innerText.startsWith({json.dumps(grouped(whole) + ' instructions in all')})", "the sum of all calls")

        def click(graph, row, part):
            """Callers are drawn upwards, callees downwards."""
            left, top, width, height = view.chrome.run(
                f"(() => {{ const b = document.querySelectorAll('.flame-graph canvas')[{graph}].getBoundingClientRect();"
                " return [b.left, b.top, b.width, b.height]; })()")
            down = (row + 0.5) * round(1.42 * view.chrome.run("parseFloat(getComputedStyle(document.documentElement).fontSize)"))
            view.chrome.click(left + part * width, top + height - down if graph == 0 else top + down)
            view.chrome.drain(0.2)

        def told_of(graph, row, part):
            click(graph, 0, 0.5)  # all of it: a click looks closer
            click(graph, row, part)
            return view.texts(".flame .detail")[0]

        largest = sorted(of, key=of.get, reverse=True)
        for part, caller in ((0.01, largest[0]), (0.99, largest[-1])):
            told = told_of(0, 2, part)
            if not told.startswith(f"{caller} program {grouped(of[caller])} "):
                raise Failure(f"{caller} called for {of[caller]} instructions; the page says {told!r}")
        sorting = sum(one["instructions"] for one in bench.json("list", "qsort", file)["calls"] if one["caller"] == "work")
        told = told_of(1, 2, 0.01)
        if grouped(sorting) not in told:
            raise Failure(f"work called qsort for {sorting} instructions; the page says {told!r}")


def steps(bench):
    """The deepest level of the timeline has single instructions, which lead to their moments."""
    file = bench.recording()
    slow = bench.json("list", "slow", file)["calls"][0]
    scene = bench.json("show", slow["moment"], file, "--around", "20")
    first = next(at for at, one in enumerate(scene["instructions"]) if one["moment"] == slow["moment"])
    third = scene["instructions"][first + 2]
    with View(bench, file) as view:
        view.go(f"view=report&axis=instructions&window={scene['ran']}-{scene['ran'] + 16}")
        view.until("document.getElementById('timeline').getAttribute('aria-busy') === 'false'", "the timeline's pieces")
        left, top, width, high = view.chrome.run(
            "(() => { const b = document.getElementById('timeline').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()")
        x = left + width * 2.5 / 16
        for y in range(int(top) + 30, int(top + high), 6):
            view.chrome.mouse("mouseMoved", x, y)
            view.chrome.drain(0.03)
            if (view.texts(".timeline .card b") or [""])[0] == third["text"]:
                break
        else:
            raise Failure(f"{third['text']!r} is not drawn")
        view.chrome.click(x, y)
        view.until(f"document.querySelector('.tools .moment')?.innerText === {json.dumps(third['moment'])}", "the instruction's moment")


def alone(bench):
    """The page as one file, without hodo."""
    file = bench.recording(crash=True)
    bench.run("view", file, "--html", "page.html")
    report = bench.json("report", file)
    with harness.Chrome() as chrome:
        chrome.size(1280, 800)
        chrome.open(f"file://{bench.work}/page.html")
        chrome.wait_for("document.querySelectorAll('[role=tab]').length > 0", "the page in a file")
        chrome.run("location.hash = 'view=report'")
        chrome.wait_for("document.querySelector(\"table[aria-label='Hottest functions']\")", "the report")
        equal(chrome.run("document.querySelector('.chip').innerText"), f"{grouped(report['instructions'])} instructions", "the head")
        end = bench.json("crash", file)["processes"][0]["threads"][0]
        chrome.run(f"location.hash = 'view=where&at={end['moment']}'")
        chrome.wait_for("document.querySelector('.open-calls')", "the moment of the crash")
        equal(chrome.run("[...document.querySelectorAll('.open-calls .fn')].map(e => e.innerText)"),
              [call["function"] for call in end["calls"]], "the open calls")
        chrome.run("location.hash = 'view=calls&fn=handle'")
        chrome.wait_for("/does not contain/.test(document.querySelector('.panel [role=alert]')?.innerText)", "that there are no calls in the file")
        asked = [one["params"]["request"]["url"] for one in chrome.events if one.get("method") == "Network.requestWillBeSent"]
        equal([one for one in asked if not one.startswith(("file:", "data:"))], [], "what the file loads from elsewhere")
        equal(chrome.problems, [], "what the console says")


def part(bench):
    """One call as a file: its own sums; and what is lost is told."""
    file = bench.recording()
    slow = bench.json("list", "slow", file)["calls"][0]
    bench.run("view", file, "--html", "part.html", "--from", slow["moment"], "--to", slow["until"])
    with harness.Chrome() as chrome:
        chrome.size(1280, 800)
        chrome.open(f"file://{bench.work}/part.html")
        total = f"{grouped(slow['instructions'])} instructions in all"
        chrome.wait_for(f"document.querySelector('.flame .detail')?.innerText.startsWith({json.dumps(total)})", "the sum of the call alone")
        chrome.wait_for("document.getElementById('timeline').getAttribute('aria-busy') === 'false'", "the timeline's pieces")
        chrome.run("location.hash += '&at=" + slow["moment"] + "'")
        chrome.key("1")
        chrome.wait_for("document.querySelector('.open-calls .fn')?.innerText === 'slow'", "the open call")
        equal(chrome.problems, [], "what the console says")
    for words in (("--from", "call:nobody"), ("--from", slow["until"], "--to", slow["moment"]), ("--diff", file, file, file)):
        bench.run("view", file, "--html", "none.html", *words, statuses=(2,))
    with open(file, "rb") as whole, open(os.path.join(bench.work, "cut.data"), "wb") as cut:
        content = whole.read()
        cut.write(content[:len(content) * 2 // 3])
    bench.run("report", "cut.data", statuses=(3,))
    bench.run("view", "cut.data", "--html", "cut.html", statuses=(3,))
    bench.run("view", "--diff", file, "cut.data", "--html", "cut.html", statuses=(3,))


def alone_differs(bench):
    """Two recordings as one file: where they part, and their flame graphs."""
    good, bad = bench.recording(), bench.recording(crash=True)
    parted = bench.json("diff", good, bad)["paths"][0]["first"]
    sums = [bench.json("report", file)["instructions"] for file in (good, bad)]
    bench.run("view", "--diff", good, bad, "--html", "two.html")
    with harness.Chrome() as chrome:
        chrome.size(1280, 800)
        chrome.open(f"file://{bench.work}/two.html")
        chrome.wait_for("document.querySelectorAll('.side h4').length === 2", "where they part")
        equal(chrome.run("[...document.querySelectorAll('.side h4')].map(e => e.innerText)"),
              [f"A at {parted['a']['moment']}", f"B at {parted['b']['moment']}"], "where they part")
        chrome.click_on("button[aria-label^='What both sides']")
        told = f"{grouped(sums[0])} instructions in A, {grouped(sums[1])} instructions in B."
        chrome.wait_for(f"document.querySelector('.flame .detail')?.innerText.includes({json.dumps(told)})", "both sums")
        chrome.run("history.back()")
        chrome.wait_for("document.querySelector('.side button')", "where they part, again")
        chrome.click_on(".side button")
        chrome.wait_for("document.querySelector('.open-calls')", "the moment where they part")
        equal(chrome.problems, [], "what the console says")
    for other in ("nosuch.data", os.path.abspath(__file__)):
        error = bench.refused("view", good, "--diff", other, "--html", "none.html")
        if os.path.basename(other) not in error:
            raise Failure(f"{other} is not named: {error}")
        if os.path.exists(os.path.join(bench.work, "none.html")):
            raise Failure("a file is left")


def wrong_words(bench):
    """Which two recordings are meant must be clear."""
    file = bench.recording()
    for words, said in (((file, "--diff", file, file), "--diff compares two recordings: hodo view A --diff B, or hodo view --diff A B"),
                        (("--diff", file, file, file), "--diff compares two recordings"),
                        ((file, "--diff", "none.data", "--html", "none.html"), "none.data")):
        done = subprocess.run([bench.hodo, "view", "--no-browser", *words], cwd=bench.work, env=bench.environment, timeout=60,
                              capture_output=True, text=True)
        equal((done.returncode, done.stdout, said in done.stderr), (2, "", True), f"hodo view {' '.join(words)}: {done.stderr}")


CASES = {one.__name__: one for one in (moments, timeline, pieces, code, searches, walks, reports, marks, hostile, keys, by_keyboard, flames, sandwich, steps, alone, alone_differs, part, wrong_words,
                                      *SOURCES, *MACHINE, *SECURITY, *STORIES)}

if __name__ == "__main__":
    sys.exit(harness.main(CASES, sys.argv[1:]))
