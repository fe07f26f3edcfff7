"""Who may see the page: not another user of the machine, not another page in the browser, and nobody a file of the machine."""

import http.client
import http.server
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse

import harness
from harness import Failure, Skipped, View, equal

HERE = os.path.dirname(os.path.abspath(__file__))


def strangers(bench):
    """Who has not the key, or comes from another page, gets nothing."""
    with View(bench, bench.recording(), browser=False) as view:
        place = urllib.parse.urlsplit(view.address)
        key = place.path.strip("/")

        def status(method, path, body=None, **headers):
            connection = http.client.HTTPConnection("127.0.0.1", place.port, timeout=30)
            try:
                sent = {name.replace("_", "-"): value for name, value in headers.items()}
                connection.request(method, path, body, sent)
                answer = connection.getresponse()
                answer.read()
                return answer.status
            finally:
                connection.close()

        question = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "info", "params": {}})
        good = {"Content_Type": "application/json", "X_Hodo_Token": key}
        equal(status("POST", f"/{key}/rpc", question, **good), 200, "a good question")
        equal(status("GET", f"/{key}/"), 200, "the page")
        for path in ("/", "/page.js", "/rpc", f"/{'0' * 32}/", f"/{key}/../../etc/passwd", f"/{key}/%2e%2e/etc/passwd", f"/{key}/good.data"):
            equal(status("GET", path), 404, f"GET {path}")
        equal(status("POST", f"/{key}/rpc", question, Content_Type="application/json"), 403, "a question without the key")
        equal(status("POST", f"/{key}/rpc", question, **good, Origin="http://evil.example"), 403, "a question of another page")
        equal(status("POST", f"/{key}/rpc", question, **good, Sec_Fetch_Site="cross-site"), 403, "a question from another site")
        equal(status("GET", f"/{key}/", Host="evil.example"), 403, "another name for this machine")
        for method in ("PUT", "DELETE", "OPTIONS", "HEAD"):
            equal(status(method, f"/{key}/rpc"), 405, method)
        # Names that lead here, and the address with another port.
        for name in ("evil.example:%d" % place.port, "localhost.evil.example:%d" % place.port, "127.0.0.1:%d" % (place.port ^ 1), "127.0.0.1", ""):
            equal(status("GET", f"/{key}/", Host=name), 403, f"the name {name!r}")
        # A form of a foreign page, which needs nobody's leave to be sent.
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            equal(status("POST", f"/{key}/rpc", question, Content_Type=kind, X_Hodo_Token=key), 415, f"a form of {kind}")
        for path in (f"//{key}/", f"/{key}/page.js/../rpc", f"/{key}/page.js%00", f"/{key}//", f"/{key}/\\..\\etc", f"/{key}/file:///etc/passwd",
                     f"/{key[:-1]}/", f"/{key}0/", f"/{key.upper()}X/"):
            equal(status("GET", path), 404, f"GET {path}")
        # No other user sees the key in the list of processes.
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{process}/cmdline", "rb") as words:
                    equal(key.encode() in words.read(), False, f"the key in the command line of {process}")
            except OSError:
                continue
        # Connections that say nothing keep nobody out.
        silent = [socket.create_connection(("127.0.0.1", place.port)) for _ in range(100)]
        begin = time.monotonic()
        equal(status("POST", f"/{key}/rpc", question, **good), 200, "a question besides a hundred silent connections")
        if time.monotonic() - begin > 2.5:
            raise Failure("silent connections hold up a question")
        for one in silent:
            one.close()


# Takes the place of the program that opens a browser: notes its words, and stays in the list of processes for a while.
OPENER = """#!/bin/sh
printf '%s\\n' "$@" > "$NOTED.part" && mv "$NOTED.part" "$NOTED"
exec sleep 60
"""


def other_user(bench):
    """Another user of the machine finds the port and the socket, and gets nothing: no page, no key, no file that has it."""
    if os.getuid() != 0 or not shutil.which("setpriv"):
        raise Skipped("only root can try what another user may, by setpriv")
    file = bench.recording()
    # Where everybody can look, as in a /tmp that is XDG_RUNTIME_DIR by mistake: what is in it keeps itself.
    with tempfile.TemporaryDirectory(prefix="hodo-open-") as folder:
        os.chmod(folder, 0o755)
        opener, noted = os.path.join(bench.work, "xdg-open"), os.path.join(bench.work, "noted")
        with open(opener, "w", encoding="ascii") as script:
            script.write(OPENER)
        os.chmod(opener, 0o755)
        bench.environment.update(DISPLAY=":0", XDG_RUNTIME_DIR=folder, NOTED=noted, PATH=f"{bench.work}:{os.environ['PATH']}")
        place = os.path.join(folder, "hodo.sock")
        serving = subprocess.Popen([bench.hodo, "serve", "--socket", place, file], env=bench.environment, stderr=subprocess.DEVNULL)
        try:
            with View(bench, file, browser=False, opens=True) as view:
                harness.wait_until(lambda: os.path.exists(noted) and os.path.exists(place), "the browser's start and the socket")
                with open(noted, encoding="utf-8") as words:
                    leads = words.read().strip()
                address = urllib.parse.urlsplit(view.address)
                key = address.path.strip("/")
                with open(leads, encoding="utf-8") as page:
                    equal(key in page.read(), True, "whether the browser's file leads to the page")
                with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "stranger.py"), encoding="utf-8") as script:
                    seen = json.loads(subprocess.run(
                        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", script.read(),
                         str(address.port), place, folder, str(view.process.pid), str(serving.pid)],
                        cwd="/", check=True, timeout=60, stdout=subprocess.PIPE, text=True).stdout)
                equal(seen["user"], 65534, "the other user")
                equal(seen["listed"], sorted([os.path.basename(leads), "hodo.sock"]), "what the other user sees in the folder")
                equal(set(seen["statuses"].values()), {404}, "what the other user is answered")
                equal(seen["socket"], "Permission denied", "what the socket of hodo serve says to the other user")
                texts = seen["texts"]
                equal("xdg-open" in "".join(texts.values()) or leads in "".join(texts.values()) or "sleep" in "".join(texts.values()), True,
                      "whether the other user sees processes")
                equal([where for where, text in texts.items() if key in text], [], "where the other user can read the key")
        finally:
            serving.terminate()
            serving.wait(10)


# What a page of somebody else's does that knows even the key: asks, writes a note, loads the script, embeds the page.
FOREIGN = """<!doctype html><iframe name="into"></iframe><script>
const question = JSON.stringify({jsonrpc: "2.0", id: 1, method: "notes", params: {set: [{moment: "1:1", text: "taken"}]}});
const outcome = (promise) => promise.then((answer) => answer.type === "opaque" ? "nothing to read" : "read", () => "refused");
const ask = (how) => outcome(fetch("%(page)srpc", {method: "POST", body: question, ...how}));
const load = (kind, where) => new Promise((done) => {
  const element = document.createElement(kind);
  element.onload = () => done("loaded");
  element.onerror = () => done("refused");
  Object.assign(element, where);
  document.body.append(element);
});
window.tried = (async () => ({
  asked: await ask({headers: {"Content-Type": "application/json", "X-Hodo-Token": "%(key)s"}}),
  asked_plainly: await ask({mode: "no-cors", headers: {"Content-Type": "text/plain"}}),
  page: await outcome(fetch("%(page)s")),
  script: await load("script", {src: "%(page)spage.js"}),
  form: await new Promise((done) => {
    const form = document.createElement("form");
    Object.assign(form, {action: "%(page)srpc", method: "post", enctype: "text/plain", target: "into"});
    const field = document.createElement("input");
    Object.assign(field, {name: question.slice(0, -1) + ', "a": "', value: '"}'});
    form.append(field);
    document.body.append(form);
    document.querySelector("iframe").onload = () => done("sent");
    form.submit();
  }),
  embedded: await load("iframe", {src: "%(page)s"}),
}))();
</script>"""


class Foreign(http.server.BaseHTTPRequestHandler):
    page = ""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.page.encode())

    def log_message(self, *_):
        pass


def foreign_page(bench):
    """Another page in the same browser gets nothing, and does nothing, also under a name that leads to this machine."""
    file = bench.recording()
    with View(bench, file, browser=False) as view:
        key = urllib.parse.urlsplit(view.address).path.strip("/")
        Foreign.page = FOREIGN % {"page": view.address, "key": key}
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with harness.Chrome(more=("--host-resolver-rules=MAP evil.example 127.0.0.1", "--disable-site-isolation-trials")) as chrome:
                chrome.open(f"http://evil.example:{server.server_port}/")
                chrome.wait_for("window.tried", "the foreign page")
                equal(chrome.run("window.tried"),
                      {"asked": "refused", "asked_plainly": "refused", "page": "refused", "script": "refused", "form": "sent",
                       "embedded": "loaded"}, "what another page comes to")
                frames = chrome.send("Page.getFrameTree")["frameTree"]["childFrames"]
                # A page that may not be embedded is an error's page in its frame.
                equal([one["frame"].get("unreachableUrl", "")[-len(key) - 2:] for one in frames][1:], [f"/{key}/"], "the embedded page")
                # The browser believes that it is at evil.example, and so would let its pages read everything from there.
                chrome.open(view.address.replace("127.0.0.1", "evil.example"))
                chrome.wait_for("/^403/.test(document.body?.innerText)", "that the name is refused")
                chrome.open(view.address)
                chrome.wait_for("document.querySelectorAll('[role=tab]').length > 0", "the page by its own address")
        finally:
            server.shutdown()
        equal(os.path.exists(file + ".notes.json"), False, "whether another page has written a note")


SECURITY = (strangers, other_user, foreign_page)
