"""The files to hand on: SARIF logs and pages."""

import html.parser
import json
import os
import shutil
import subprocess

import sarif
from harness import FOUND, SKIPPED, SOURCES, TIMEOUT, USAGE, WINDOWS, Skip, equal, rules_of


class Elements(html.parser.HTMLParser):
    """The elements and attributes of a page, and its text."""

    def __init__(self, page):
        super().__init__()
        self.names, self.attributes, self.text = set(), set(), ""
        self.links, self.ids = set(), set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links.update(value for name, value in attrs if name == "href")
        self.ids.update(value for name, value in attrs if name == "id")

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
    rule = next(r for r in log["runs"][0]["tool"]["driver"]["rules"] if r["id"] == "return.target")
    equal(rule["helpUri"].endswith("/return.target.md"), True, "the rule's page")
    equal("behind the call that was open last" in rule["fullDescription"]["text"], True, "what it proves")
    related = [at["message"]["text"] for at in results[0]["relatedLocations"]]
    equal(related[:2], ["where the branch leads", "should go to"], "what should have been")
    equal(any(text.startswith("chain.rop: ") for text in related), True, "the further steps")
    flow = results[0]["codeFlows"][0]["threadFlows"][0]["locations"]
    equal([s["importance"] for s in flow].index("essential"), 32, "the branch among those around it")
    equal("a%3Cimg" in json.dumps(log), True, "the name as a URI")

    page = Elements(written("html"))
    known = set(
        "html head meta title style body h1 h2 h3 p span code div table tr th td article header dl dt dd"
        " details summary br a pre".split()
    )
    equal(page.names - known, set(), "elements that the page should not have")
    equal({a for a in page.attributes if a.startswith("on") or a == "src"}, set(), "attributes")
    equal(page.links, {"#" + rule for rule in rules_of(plain)}, "links, which stay in the page")
    equal(page.links <= {"#" + name for name in page.ids}, True, "what they lead to")
    equal("a<img src=x onerror=alert(1)>'\"&b;[c](d){0}\\xe2\\x80\\xae" in page.text, True, "the name")
    equal((len(results), "1 finding in" in page.text), (1, True), "the summary")

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
    lines = os.path.join(tool.work, "lines")
    with open(lines, "w", encoding="utf-8") as file:
        file.writelines(f"{rule} | * => * | a [b](c){{0}}\n" for rule in ("return.target", "call.target", "code.heap"))
    # With source in code of no file, nothing found, in windows; of a file that is gone.
    asked = [([hijacks, "rop"], ()), ([hijacks, "shellcode-on-heap"], ()), ([hijacks, "none"], ())]
    asked += [([hijacks, "jop"], WINDOWS), ([gone, "rop"], ())]
    for command, how in asked:
        data, _ = tool.record(command, options=how)
        if command[0] == gone:
            os.remove(gone)
        log = log_of(data, "--explained")
        equal(wrong(log), [], f"{command} {how}: SARIF")
        log_suppressed = log_of(data, "--suppress", lines)
        equal(wrong(log_suppressed), [], f"{command} {how}: SARIF of suppressed findings")
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


def cases():
    return {"formats": formats, "sarif-schema": sarif_schema}
