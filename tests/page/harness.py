"""A recording, `hodo view` of it, and a browser that looks."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time

from chrome import LONGEST, Chrome

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77
WAIT = 60


class Failure(Exception):
    pass


class Skipped(Exception):
    """What the case needs is not here."""


def equal(found, expected, what):
    if found != expected:
        raise Failure(f"{what}: {str(found)[:1500]!r}, expected {str(expected)[:1500]!r}")


def grouped(number):
    return f"{number:,}"


def wait_until(holds, what):
    end = time.monotonic() + WAIT
    while not holds():
        if time.monotonic() > end:
            raise Failure(f"waited {WAIT} s for {what}")
        time.sleep(0.05)


class Bench:
    """What all cases have: hodo, a folder of their own, and a recording, made when it is first asked for."""

    def __init__(self, hodo, work):
        self.hodo = hodo
        self.work = work
        self.patience = WAIT  # seconds for a command
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        self.environment = {**os.environ, "XDG_CACHE_HOME": os.path.join(work, "cache"), "DISPLAY": "", "WAYLAND_DISPLAY": ""}

    def run(self, *words, statuses=(0,), **environment):
        return self._done(words, statuses, environment).stdout

    def refused(self, *words):
        """What hodo says against it."""
        return self._done(words, (2,), {}).stderr

    def _done(self, words, statuses, environment):
        done = subprocess.run([self.hodo, *words], cwd=self.work, env={**self.environment, **environment}, capture_output=True,
                              text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=self.patience)
        if done.returncode not in statuses:
            raise Failure(f"hodo {' '.join(words)}: exit status {done.returncode}: {(done.stderr or done.stdout)[-1500:]}")
        return done

    def json(self, *words, statuses=(0, 1)):
        return json.loads(self.run(*words, "--json", statuses=statuses))

    def program(self):
        path = os.path.join(self.work, "program")
        if not os.path.exists(path):
            subprocess.run(["cc", "-g", "-O0", "-o", path, os.path.join(HERE, "program.c")], check=True, timeout=WAIT)
        return path

    def recording(self, crash=False):
        name = "crash.data" if crash else "good.data"
        path = os.path.join(self.work, name)
        if not os.path.exists(path):
            words = [self.program(), *(["crash"] if crash else [])]
            self.run("record", "-o", path, "--", *words, statuses=(0, 139))
        return path


class View:
    """`hodo view FILE` with a browser that has its page open."""

    def __init__(self, bench, *words, browser=True, opens=False):
        self.bench = bench
        self.process = subprocess.Popen([bench.hodo, "view", *(() if opens else ("--no-browser",)), *words], cwd=bench.work, env=bench.environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.chrome = None
        try:
            if not select.select([self.process.stdout], [], [], WAIT)[0]:
                raise Failure(f"hodo view printed no address in {WAIT} s")
            self.address = self.process.stdout.readline().strip()
            if not self.address.startswith("http://127.0.0.1:"):
                raise Failure(f"hodo view printed {self.address!r} {self.process.stderr.read()}")
            if browser:
                self.chrome = Chrome()
                self.chrome.size(1280, 800)
                self.chrome.open(self.address)
                self.chrome.wait_for("document.querySelectorAll('[role=tab]').length > 0", "the views' tabs")
        except BaseException:
            self.close()
            raise

    def close(self):
        if self.chrome:
            self.chrome.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure("hodo view does not end by SIGTERM")
        finally:
            self.process.stdout.close()
            self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        problems = self.chrome.problems if self.chrome else []
        self.close()
        if kind is None and problems:
            raise Failure(f"the browser's console says {problems[:5]}")

    def go(self, words):
        """To a place by the address, and until it is shown."""
        self.chrome.run(f"location.hash = {json.dumps(words)}")
        self.settled()

    def settled(self, seconds=LONGEST):
        self.chrome.drain(0.1)
        self.chrome.wait_for("!document.querySelector('.waits')", "the answers", seconds)
        trouble = self.chrome.run("[...document.querySelectorAll('.panel [role=alert]')].map(e => e.innerText).join()")
        if trouble:
            raise Failure(f"the page says {trouble!r}")

    def texts(self, selector):
        return self.chrome.run(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.innerText.trim())")

    def rows(self, table):
        """The cells of a table by its name."""
        return self.chrome.run(f"[...document.querySelectorAll({json.dumps(f'table[aria-label={json.dumps(table)}] tbody tr')})]"
                               ".map(r => [...r.cells].map(c => c.innerText.trim()))")

    def hash(self):
        return self.chrome.run("Object.fromEntries(location.hash.slice(1).split('&').map(w => w.split('=').map(decodeURIComponent)))")

    def until(self, script, what):
        self.chrome.wait_for(script, what)


def main(cases, arguments):
    if arguments[:1] == ["--list"]:
        print("\n".join(cases))
        return 0
    name, hodo, work = arguments
    if not shutil.which("chromium"):
        print("skipped: chromium is not installed")
        return SKIPPED
    start = time.monotonic()
    try:
        cases[name](Bench(hodo, work))
    except Skipped as missing:
        print(f"skipped: {missing}")
        return SKIPPED
    except (Failure, TimeoutError, LookupError, RuntimeError) as problem:
        print(f"{name}: {type(problem).__name__}: {problem}", file=sys.stderr)
        return 1
    print(f"{name}: {time.monotonic() - start:.1f} s")
    return 0
