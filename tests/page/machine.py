"""A machine's recording: a lane for each virtual processor, its processes told apart, both worlds in one picture."""

import collections
import csv
import json
import os
import subprocess
import sys
import urllib.parse
import urllib.request

import harness
from harness import Failure, Skipped, View, equal, grouped
from tile import in_slices

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "vm"))

import box  # noqa: E402
import guest  # noqa: E402

PROGRAMS = ("known_path", "ping_pong")
NAMES = ("known_path", "ping", "pong")  # of their processes
PIECES = 32  # of a processor's path, so that no two turns are within a pixel


def recorded(bench, cache):
    """vm.data: two processes that wait for each other and one that does not, on two processors, with the kernel. `cache`: a
    folder where a guest's kernel is kept."""
    os.makedirs(os.path.join(bench.work, "root", "bin"))
    programs = [os.path.join(bench.work, "root", "bin", name) for name in PROGRAMS]
    for path in programs:
        source = os.path.join(HERE, "..", "vm", "programs", os.path.basename(path) + ".c")
        subprocess.run(["cc", "-O1", "-g", "-fno-pie", "-fno-stack-protector", "-mno-sse", "-static", "-nostdlib", "-no-pie", "-Wl,--build-id",
                        "-o", path, source], check=True, timeout=harness.WAIT)
    for tool in ("qemu-system-x86_64", guest.BUSYBOX):
        if subprocess.run(["which", tool], stdout=subprocess.DEVNULL).returncode != 0:
            raise Skipped(f"{tool} is not installed")
    kernel = guest.kernel(cache)
    if kernel is None:
        raise Skipped("there is no Debian kernel in /boot, and its package cannot be fetched")
    guest.write_initramfs(os.path.join(bench.work, "initrd"), f"known_path {box.ROUNDS} & ping_pong 40 & wait", programs)
    words = [word for name in NAMES for word in ("--process", name)]
    bench.patience = 240  # it boots
    bench.run("vm", "record", "--user", "--kernel", *words, "-o", "vm.data", "--", *guest.command(guest.unpacked(kernel, cache), "initrd", "-smp", "2"))
    return "vm.data"


def ran_on(bench, file):
    """{processor: [(thread, branches) of each turn]}, by the list of branches."""
    text = bench.run("branches", file, "--format", "csv")
    turns, time = {}, {}
    for row in csv.DictReader(text.splitlines()):
        one = turns.setdefault(int(row["cpu"]), [])
        paused = row["kind"] == "begin" and int(row["time"]) > time[row["cpu"]] if one else True
        if paused or one[-1][0] != row["tid"]:
            one.append([row["tid"], 0])
        one[-1][1] += 1
        time[row["cpu"]] = int(row["time"])
    return turns


def asked(view, method, **params):
    """What the page would be told; not by way of the browser, which takes its time with such long answers."""
    question = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    address = urllib.parse.urljoin(view.address, "rpc")
    token = urllib.parse.urlparse(view.address).path.split("/")[1]
    request = urllib.request.Request(address, question.encode(), {"Content-Type": "application/json", "X-Hodo-Token": token})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=harness.WAIT) as connection:
        answer = json.load(connection)
    if "error" in answer:
        raise Failure(f"{method}: {answer['error']}")
    return answer["result"]


def long_calls(view, info):
    """{(moment, row): instructions} of those that are drawn alone in their threads' lanes."""
    out = {}
    for thread in (thread for process in info["processes"] for thread in process["threads"]):
        tile = in_slices(asked(view, "tile", thread=thread["thread"], axis="instructions", width=16384, **{"from": 0, "to": thread["instructions"]}))
        for row in tile["rows"]:
            for one in row["slices"]:
                if one["count"] == 1 and one["to"] - one["from"] > 2000:
                    out[one["moment"], row["depth"]] = one["to"] - one["from"]
    return out


def turns_of(view, processor, instructions, pieces):
    """Who ran; how much of each call, to `pieces`. Each call lies within a turn of its thread."""
    found = {}
    for piece in range(PIECES):
        begin, end = (instructions * at // PIECES for at in (piece, piece + 1))
        tile = in_slices(asked(view, "tile", processor=processor, axis="instructions", width=16384, **{"from": begin, "to": end}))
        rows = {row["depth"]: row["slices"] for row in tile["rows"]}
        equal([one["count"] for one in rows[0]], [1] * len(rows[0]), "turns in each slice")
        for one in rows[0]:
            found[one["from"]] = (tile["names"][one["name"]]["thread"], one["to"])
        for depth, one in ((depth, one) for depth in rows if depth > 0 for one in rows[depth]):
            if one["name"] < 0:
                continue
            if one["count"] == 1:
                pieces[one["moment"], depth - 1] += one["to"] - one["from"]
            thread = tile["names"][one["name"]]["thread"]
            if not any(tile["names"][turn["name"]]["thread"] == thread and turn["from"] <= one["from"] and one["to"] <= turn["to"] for turn in rows[0]):
                raise Failure(f"{tile['names'][one['name']]} at {one['from']} lies in no turn of its thread")
    return [found[begin] for begin in sorted(found)]


def machine(bench):
    # That of tests/vm, which fetches it, too.
    file = recorded(bench, os.path.join(bench.work, "..", "..", "..", "vm", "kernel"))
    stats, spaces = bench.json("stats", file), json.loads(bench.run("vm", "ps", file, "--json"))
    turns = ran_on(bench, file)
    with View(bench, "--symfs", "root", file) as view:
        view.settled()
        view.until("document.getElementById('timeline').getAttribute('aria-busy') === 'false'", "the timeline's pieces")
        info = asked(view, "info")
        equal({one["processor"]: one["branches"] for one in info["processors"]}, {cpu: sum(turn[1] for turn in all_of) for cpu, all_of in turns.items()},
              "the branches of each processor")
        equal(sum(one["instructions"] for one in info["processors"]), stats["instructions"], "the instructions of all processors")
        equal(view.texts(".lane-label button")[:len(turns)], [f"Processor {cpu}" for cpu in sorted(turns)], "the first lanes")
        pieces = collections.Counter()
        for one in info["processors"]:
            shown = turns_of(view, one["processor"], one["instructions"], pieces)
            equal([thread for thread, _ in shown], [thread for thread, _ in turns[one["processor"]]], f"who ran on processor {one['processor']}")
        calls = long_calls(view, info)
        if len(calls) < 30:
            raise Failure(f"only {len(calls)} calls are long")
        for call, length in calls.items():  # of which less than a pixel at each edge may be drawn with others
            if not 0.97 * length <= pieces[call] <= length:
                raise Failure(f"of the call {call}, {length} instructions, {pieces[call]} lie on the processors")
        # It begins where something ran, and not with the boot.
        window = [int(word) for word in view.hash()["window"].split("-")]
        if window[1] - window[0] > info["duration_ns"] / 2:
            raise Failure(f"the picture begins with {window} of {info['duration_ns']}")
        told_apart(view, spaces)
        both_worlds(bench, view, file)
        to_who_ran(view, info)
        from_lane_to_lane(view)
    in_a_file(bench, file)


def in_a_file(bench, file):
    """The page as one file has the processors' lanes, too, where something ran."""
    bench.run("view", "--symfs", "root", file, "--html", "vm.html")
    with harness.Chrome() as chrome:
        chrome.size(1280, 800)
        chrome.open(f"file://{bench.work}/vm.html")
        chrome.wait_for("document.getElementById('timeline')?.getAttribute('aria-busy') === 'false'", "the timeline's pieces")
        left, top, width = chrome.run("(() => { const b = document.getElementById('timeline').getBoundingClientRect(); return [b.left, b.top, b.width]; })()")
        text = chrome.run("parseFloat(getComputedStyle(document.documentElement).fontSize)")
        seen = set()
        for x in range(int(left) + 2, int(left + width), 4):
            chrome.mouse("mouseMoved", x, top + text * 2.9)
            # The card is drawn in the next frame, which on a busy machine is late.
            chrome.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
            seen.add(chrome.run("document.querySelector('.timeline .card.on b')?.innerText"))
            if seen & set(NAMES):
                break
        else:
            raise Failure(f"on a processor of the file are {seen}")
        equal(chrome.run("[...document.querySelectorAll('.timeline-tools [role=status]')].map(e => e.innerText).join().includes('does not contain')"), False,
              "whether pieces are missing")
        equal(chrome.problems, [], "what the console says")


def from_lane_to_lane(view):
    """By the arrow keys: from the processors down to the first thread, and back."""
    view.go("view=report&axis=time")
    view.until("document.getElementById('timeline').getAttribute('aria-busy') === 'false'", "the timeline's pieces")
    view.chrome.key("t")
    view.chrome.key("ArrowRight")
    heard = []
    while not heard or "depth 1, at" not in heard[-1] or "thread" in heard[-1]:  # which only a processor's slices name
        if len(heard) > 120:
            raise Failure(f"the arrow keys lead to {heard[-5:]}")
        view.chrome.key("ArrowDown")
        heard += view.texts("#live")
    view.chrome.key("ArrowUp")
    view.until("/thread [0-9]+, .*depth 1, at|turns.*depth 1/.test(document.getElementById('live').innerText)", "the way up")


def told_apart(view, spaces):
    """Processes by their address spaces, as hodo vm ps has them."""
    view.go("view=processes")
    heads = view.texts(".process h3")
    for process in spaces["processes"]:
        head = f"{process['name']} {process['pid']} · CR3 {', '.join(process['cr3'])}"
        if head not in heads:
            raise Failure(f"{head!r} is not among {heads}")
    # Those two ran together; of who has ended another may get the pages.
    cr3 = {process["name"]: process["cr3"] for process in spaces["processes"]}
    if cr3["ping"] == cr3["pong"]:
        raise Failure(f"ping and pong have one address space: {cr3}")


def both_worlds(bench, view, file):
    """A function of the program and one of the kernel: what ran is yellow, and each leads on to the other's callers."""
    for name in ("fibonacci", "ksys_read"):
        blocks = bench.json("annotate", name, file, "--symfs", "root")["blocks"]
        ran = [one["address"] for one in blocks if one["instructions"][0]["count"] != 0]
        view.go(f"view=code&fn={name}")
        view.until("document.querySelector('.machine .row')", f"the code of {name}")
        view.chrome.click_on("[data-value=graph]")
        view.until("document.querySelector('.graph svg g[id^=b-0x]')", f"the flow graph of {name}")
        yellow = view.chrome.run("[...document.querySelectorAll('.graph g[id^=b-0x]')].filter(e => e.querySelector('polygon, path')?.getAttribute('fill')"
                                 " === 'yellow').map(e => e.id.slice(2))")
        equal(sorted(yellow), sorted(ran), f"the yellow blocks of {name}")
        view.chrome.click_on("[data-value=both]")
    # From the kernel's code to what it calls.
    view.until("[...document.querySelectorAll('.machine .row button.link')].some(e => e.innerText === 'vfs_read')", "the call of vfs_read")
    view.chrome.run("[...document.querySelectorAll('.machine .row button.link')].find(e => e.innerText === 'vfs_read').click()")
    view.until("document.querySelector('.caption')?.innerText.startsWith('vfs_read')", "the code of vfs_read")


def to_who_ran(view, info):
    """A click on a processor's lane leads to the thread that ran there."""
    view.go("view=where&axis=instructions")
    view.until("document.getElementById('timeline').getAttribute('aria-busy') === 'false'", "the timeline's pieces")
    one = info["processors"][0]
    tile = in_slices(asked(view, "tile", processor=one["processor"], axis="instructions", width=64, **{"from": 0, "to": one["instructions"]}))
    longest = max((slice_ for slice_ in tile["rows"][0]["slices"] if slice_["name"] >= 0 and slice_["count"] == 1), key=lambda slice_: slice_["to"] - slice_["from"])
    thread = tile["names"][longest["name"]]["thread"]
    axis = max([one["instructions"] for one in info["processors"]] + [thread["instructions"] for process in info["processes"] for thread in process["threads"]])
    left, top, width = view.chrome.run("(() => { const b = document.getElementById('timeline').getBoundingClientRect(); return [b.left, b.top, b.width]; })()")
    text = view.chrome.run("parseFloat(getComputedStyle(document.documentElement).fontSize)")
    x = left + width * (longest["from"] + longest["to"]) / 2 / axis
    view.chrome.mouse("mouseMoved", x, top + text * 2.9)
    view.until(f"document.querySelector('.timeline .card').innerText.includes('thread {thread}')", "whose turn it was")
    view.chrome.click(x, top + text * 2.9)
    view.until(f"location.hash.includes('at={thread}%3A') || location.hash.includes('at={thread}:')", "the thread that ran")
    view.settled()
    equal(view.hash()["thread"], thread, "the thread that is looked at")


MACHINE = (machine,)
