"""The three stories of docs/tour.md, click by click, so that they stay true: what is clicked is what the tour names, in its
order. With HODO_PICTURES=DIR pictures of their ends are written there."""

import json
import os
import re
import subprocess
import time

from harness import Failure, View, equal

HERE = os.path.dirname(os.path.abspath(__file__))
TOUR = os.path.join(HERE, "..", "..", "docs", "tour.md")
MOST_CLICKS = 10


class Reader:
    """Does what the tour says of one question, and nothing else."""

    def __init__(self, view, question):
        self.view, self.question, self.clicks, self.begin = view, question, 0, time.monotonic()
        with open(TOUR, encoding="utf-8") as file:
            text = file.read()
        story = re.search(rf"\*\*{re.escape(question)}\*\*(.*?)(?=\n\*\*|\n#|\Z)", text, re.S)
        if not story:
            raise Failure(f"the tour does not ask {question!r}")
        self.named = re.findall(r"\*([^*]+)\*", story[1].replace("\n", " "))

    def click(self, named, selector):
        """On what the tour names next."""
        while self.named and self.named[0] != named:
            self.named.pop(0)
        if not self.named:
            raise Failure(f"the tour does not name {named!r}, or names it earlier")
        self.named.pop(0)
        seen = self.view.chrome.run(f"(one => (one?.closest('.step') ?? one)?.innerText ?? '')(document.querySelector({json.dumps(selector)}))")
        if named not in " ".join(seen.split()):
            raise Failure(f"the page calls {seen!r} what is {named!r} in the tour")
        self.click_plain(selector)

    def click_plain(self, selector):
        self.clicks += 1
        self.view.chrome.click_on(selector)

    def end(self, name=None):
        if self.clicks >= MOST_CLICKS:
            raise Failure(f"{self.clicks} clicks")
        print(f"{self.question} {self.clicks} clicks, {time.monotonic() - self.begin:.1f} s")
        folder = os.environ.get("HODO_PICTURES")
        if folder and name:
            self.view.settled()
            self.view.chrome.picture(os.path.join(folder, f"view-{name}.webp"), quality=80)


def tab(name):
    return f"#tab-{name}"


def story_crash(bench):
    """Why did it crash?"""
    file = bench.recording(crash=True)
    end = bench.json("show", "crash", file)
    with View(bench, file, "--at", "crash") as view:
        reader = Reader(view, "Why did it crash?")
        view.settled()
        view.until("document.querySelector('.machine .here')", "the instruction that failed")
        equal(view.texts(".open-calls .fn")[:2], ["total", "main"], "the open calls")
        equal(view.texts(".source .here .text"), ["    sum += item->value;".strip()], "the line that failed")
        equal(view.texts(".here-row td"), [f"▸ {end['instruction']}"], "the instruction that failed")
        # Back by lines to where the bad pointer came from.
        lines = []
        while not lines or "item = item->next;" not in lines[-1]:
            if len(lines) > 4:
                raise Failure(f"the lines before are {lines}")
            before = view.texts(".tools .moment")
            if lines:
                reader.click_plain("button[aria-label^='Back to another source line, also']")
            else:
                reader.click("◂ Line", "button[aria-label^='Back to another source line, also']")
            view.until(f"document.querySelector('.tools .moment').innerText !== {json.dumps(before[0])}", "the step back")
            view.settled()
            view.until("document.querySelector('.source .here')", "the source there")
            lines.append(" ".join(view.texts(".source .here .text")))
        reader.end("crash")


def story_slow(bench):
    """Which request was slow, and why?"""
    file = bench.recording()
    slow = bench.json("list", "slow", file)["calls"][0]
    with View(bench, file) as view:
        reader = Reader(view, "Which request was slow, and why?")
        view.settled()
        view.until("document.getElementById('timeline').getAttribute('aria-busy') === 'false'", "the timeline's pieces")
        # By the eye: the long one, drawn where its instructions lie.
        report = bench.json("report", file)
        place = bench.json("show", slow["moment"], file)["ran"] + slow["instructions"] / 2
        box = view.chrome.run("(() => { const b = document.getElementById('timeline').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()")
        x = box[0] + box[2] * place / report["instructions"]
        for y in range(int(box[1]) + 30, int(box[1] + box[3]), 8):  # down to where it is
            view.chrome.mouse("mouseMoved", x, y)
            view.chrome.drain(0.03)
            if (view.texts(".timeline .card b") or [""])[0] == "slow":
                break
        else:
            raise Failure("the slow call is not drawn")
        reader.clicks += 1
        view.chrome.click(x, y)
        view.until(f"location.hash.includes('at={slow['moment']}')", "the slow call")
        view.chrome.key("t")
        view.chrome.key("r")
        view.until("location.hash.includes('range=')", "its range")
        reader.click("Flame graph", tab("flame"))
        total = f"{slow['instructions']:,} instructions in all"
        view.until(f"document.querySelector('.flame .detail')?.innerText.startsWith({json.dumps(total)})", "what it was spent on")
        reader.end("slow")
    with View(bench, file) as view:  # by its name
        reader = Reader(view, "Which request was slow, and why?")
        view.settled()
        view.chrome.key("/")
        view.chrome.type("handle")
        view.until("[...document.querySelectorAll('#found .fn')].some(e => e.innerText === 'handle')", "handle in the search")
        view.chrome.key("Enter")
        view.until("document.querySelector('.machine .row')", "the code of handle")
        reader.click("Calls", tab("calls"))
        view.until("document.querySelector('table[aria-label=Calls]')", "the calls")
        reader.click("Instructions", "button[aria-label='Sort by Instructions']")
        equal(view.rows("Calls")[0][0], "#18", "the slowest request")
        reader.click_plain("table[aria-label=Calls] tbody tr")
        view.until("document.querySelector('.open-calls .fn')?.innerText === 'handle'", "where it began")
        reader.end()


def story_hook(bench):
    """Where is the hook?"""
    library = os.path.join(bench.work, "libhides.so")
    subprocess.run(["cc", "-g", "-O1", "-shared", "-fPIC", "-o", library, os.path.join(HERE, "..", "programs", "hides.c"), "-ldl"], check=True)
    bench.run("record", "-o", "hook.data", "--", "/bin/ls", "/", statuses=(0,), LD_PRELOAD=library)
    finding = bench.json("check", "hook.data")["findings"][0]
    with View(bench, "hook.data") as view:
        reader = Reader(view, "Where is the hook?")
        view.settled()
        reader.click("Findings", tab("findings"))
        view.until("document.querySelector('.finding')", "the findings")
        equal(view.texts(".finding header b")[0], finding["rule"], "the first finding")
        reader.click("Go there", ".finding header button")
        view.until("document.querySelector('.tools .moment')", "the moment of it")
        view.settled()
        equal(view.texts(".tools .moment"), [bench.json("show", "finding:1", "hook.data")["moment"]], "the moment of it")
        # No function is there: the instructions around stand in the place of its code.
        view.until("document.querySelector('.machine .here')", "the instruction there")
        equal(view.texts(".machine .here .text"), [bench.json("show", "finding:1", "hook.data")["instruction"]], "the instruction there")
        reader.end("hook")


STORIES = (story_crash, story_slow, story_hook)
