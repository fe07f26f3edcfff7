"""Drives a headless chromium through the pipe that it speaks its DevTools protocol over: messages in JSON, each ended by
a zero byte. Nothing but Python's own library; every wait has an end, and says what it waited for."""

import base64
import collections
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

# Pages of the browser's own that it draws in advance behind its address bar, which nobody sees here: half the time of a start.
UNSEEN = "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup"
LONGEST = 100  # seconds, for anything, on a machine that does much else


class Gone(Exception):
    pass


class PageLeft(RuntimeError):
    """The page went on to another one, or began anew, while it was asked."""


class Chrome:
    def __init__(self, binary="chromium", width=1280, height=800, more=()):
        self.folder = tempfile.mkdtemp(prefix="hodo-chrome-")
        to_read, self.to_chrome = os.pipe()
        self.from_chrome, to_write = os.pipe()

        def as_three_and_four():
            os.setsid()
            high = [os.dup(to_read), os.dup(to_write)]
            while min(high) < 5:
                high = [os.dup(one) for one in high]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.log = open(os.path.join(self.folder, "log"), "wb")
        command = [binary, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-sync",
                   "--hide-scrollbars", f"--disable-features={UNSEEN}", "--remote-debugging-pipe", f"--user-data-dir={self.folder}/profile",
                   f"--window-size={width},{height}", *more, "about:blank"]
        self.process = subprocess.Popen(command, preexec_fn=as_three_and_four, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log)
        os.close(to_read)
        os.close(to_write)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.events = collections.deque(maxlen=100_000)
        self.problems = []  # what the browser's console would show in red
        try:
            self.attach()
        except BaseException:
            self.close()
            raise

    def attach(self):
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(one for one in targets if one["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for descriptor in (self.to_chrome, self.from_chrome):
            os.close(descriptor)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # One message; what else comes before `deadline` is kept.
    def receive(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            if not select.select([self.from_chrome], [], [], left)[0]:
                return None
            piece = os.read(self.from_chrome, 1 << 20)
            if not piece:
                raise Gone("chromium has ended: " + open(self.log.name, errors="replace").read()[-2000:])
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def note(self, message):
        self.events.append(message)
        name, params = message.get("method"), message.get("params", {})
        if name == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"])[:1500])
        elif name == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(json.dumps(params["args"])[:1500])
        elif name == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def send(self, method, wait=LONGEST, **params):
        self.number += 1
        mine = self.number
        message = {"id": mine, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_chrome, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + wait
        while True:
            answer = self.receive(deadline)
            if answer is None:
                raise TimeoutError(f"{method}: no answer in {wait} s")
            if answer.get("id") == mine:
                if "error" in answer:
                    error = PageLeft if "navigated or closed" in str(answer["error"]) else RuntimeError
                    raise error(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def drain(self, seconds=0.05):
        deadline = time.monotonic() + seconds
        while (message := self.receive(deadline)) is not None:
            self.note(message)

    def open(self, address):
        self.send("Page.navigate", url=address)

    def run(self, script):
        """The value of a JavaScript expression; promises are awaited."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script[:200]}: {json.dumps(answer['exceptionDetails'])[:800]}")
        return answer["result"].get("value")

    def wait_for(self, script, what=None, seconds=LONGEST):
        """Until the expression is true."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                if self.run(f"!!({script})"):
                    return
            except PageLeft:
                pass  # it is being loaded anew
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {seconds} s for {what or script}; the page says: "
                                   f"{self.run('document.body.innerText')[:1500]} {self.problems}")
            self.drain()

    def key(self, key, shift=False, ctrl=False):
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 and not ctrl else "")
        code = codes.get(key) or ord(key.upper())
        modifiers = (8 if shift else 0) | (2 if ctrl else 0)
        event = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
        self.send("Input.dispatchKeyEvent", type="keyUp", **event)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, modifiers=0):
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1, modifiers=modifiers)

    def drag(self, x, y, to_x, to_y, modifiers=0):
        self.mouse("mouseMoved", x, y, modifiers=modifiers)
        self.mouse("mousePressed", x, y, button="left", clickCount=1, modifiers=modifiers)
        for step in range(1, 5):
            self.mouse("mouseMoved", x + (to_x - x) * step / 4, y + (to_y - y) * step / 4, buttons=1, button="left",
                       modifiers=modifiers)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1, modifiers=modifiers)

    def middle_of(self, selector):
        box = self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;"
                       " e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect();"
                       " return [b.left + b.width / 2, b.top + b.height / 2]; })()")
        if box is None:
            raise LookupError(f"nothing on the page is {selector}")
        return box

    def click_on(self, selector):
        self.click(*self.middle_of(selector))

    def size(self, width, height, dark=False, fine=1):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=fine, mobile=False)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def picture(self, path, quality=None):
        kind = {"format": "png"} if quality is None else {"format": "webp", "quality": quality}
        data = self.send("Page.captureScreenshot", **kind)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
