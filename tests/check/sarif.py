"""What SARIF 2.1.0 asks of a log, as far as `hodo check` writes one.

SHAPES lists for each object that may appear its members with their types, and which are required: those
of the specification (OASIS, sections 3.13 to 3.58). Anything else is an error, so that a misspelt
member cannot pass for an optional one.
"""

LEVELS = {"none", "note", "warning", "error"}
KINDS = {"notApplicable", "pass", "fail", "review", "open", "informational"}


def text(value):
    return isinstance(value, str)


def flag(value):
    return isinstance(value, bool)


def number(least):
    return lambda v: isinstance(v, int) and not isinstance(v, bool) and least <= v < 2**53


def one_of(words):
    return lambda v: v in words


def uri(value):
    """RFC 3986 characters alone, each percent sign before two digits."""
    unreserved = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?#@!$&'()*+,;=%")
    escapes = value.split("%")[1:]
    return set(value) <= unreserved and all(len(e) >= 2 and int(e[:2], 16) >= 0 for e in escapes)


def bag(value):
    return isinstance(value, dict)


# object: ({member: a test of its value, the name of an object, or [one of these] for an array of it},
#          required members)
SHAPES = {
    "log": ({"$schema": uri, "version": one_of({"2.1.0"}), "runs": ["run"]}, {"version", "runs"}),
    "run": (
        {"tool": "tool", "invocations": ["invocation"], "results": ["result"], "properties": bag,
         "columnKind": one_of({"utf16CodeUnits", "unicodeCodePoints"})},
        {"tool"},
    ),  # fmt: skip
    "tool": ({"driver": "toolComponent"}, {"driver"}),
    "toolComponent": ({"name": text, "version": text, "rules": ["reportingDescriptor"]}, {"name"}),
    "reportingDescriptor": (
        {"id": text, "shortDescription": "message", "fullDescription": "message", "helpUri": uri,
         "help": "help", "defaultConfiguration": "configuration", "properties": bag},
        {"id"},
    ),  # fmt: skip
    "help": ({"text": text, "markdown": text}, {"text"}),
    "configuration": ({"level": one_of(LEVELS)}, set()),
    "invocation": (
        {"executionSuccessful": flag, "toolExecutionNotifications": ["notification"], "properties": bag},
        {"executionSuccessful"},
    ),
    "notification": (
        {"descriptor": "reference", "level": one_of(LEVELS), "message": "message"},
        {"message"},
    ),
    "reference": ({"id": text}, set()),
    "message": ({"text": text}, {"text"}),
    "result": (
        {"ruleId": text, "ruleIndex": number(0), "kind": one_of(KINDS), "level": one_of(LEVELS),
         "message": "message", "locations": ["location"], "relatedLocations": ["location"],
         "codeFlows": ["codeFlow"], "occurrenceCount": number(1), "partialFingerprints": bag,
         "suppressions": ["suppression"], "properties": bag},
        {"message"},
    ),  # fmt: skip
    "suppression": ({"kind": one_of({"inSource", "external"}), "justification": text}, {"kind"}),
    "location": (
        {"id": number(0), "physicalLocation": "physicalLocation",
         "logicalLocations": ["logicalLocation"], "message": "message"},
        set(),
    ),  # fmt: skip
    # Section 3.29.2: an address or an artifact's location.
    "physicalLocation": (
        {"address": "address", "artifactLocation": "artifactLocation", "region": "region"},
        {"address"},
    ),
    "address": (
        {"kind": text, "fullyQualifiedName": text, "absoluteAddress": number(0)},
        set(),
    ),
    "artifactLocation": ({"uri": uri}, set()),
    "region": ({"startLine": number(1)}, {"startLine"}),
    "logicalLocation": ({"fullyQualifiedName": text, "kind": text}, set()),
    "codeFlow": ({"threadFlows": ["threadFlow"]}, {"threadFlows"}),
    "threadFlow": ({"id": text, "locations": ["threadFlowLocation"]}, {"locations"}),
    "threadFlowLocation": (
        {"location": "location", "executionOrder": number(1),
         "importance": one_of({"important", "essential", "unimportant"})},
        set(),
    ),  # fmt: skip
}


def problems(value, shape="log", where="log"):
    """What is wrong with a log, a line each."""
    if callable(shape):
        return [] if shape(value) else [f"{where}: {value!r}"]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{where} is no array"]
        return [p for i, v in enumerate(value) for p in problems(v, shape[0], f"{where}[{i}]")]
    if not isinstance(value, dict):
        return [f"{where} is no object"]
    members, required = SHAPES[shape]
    out = [f"{where} has no {name}" for name in required - set(value)]
    for name, v in value.items():
        if name in members:
            out += problems(v, members[name], f"{where}.{name}")
        else:
            out.append(f"{where}: {shape} has no member {name}")
    return out + (contradictions(value, where) if shape in ("run", "result", "message") else [])


def contradictions(value, where):
    """What the specification says of members together."""
    out = []
    if "results" in value:
        rules = [r["id"] for r in value["tool"]["driver"]["rules"]]
        for i, r in enumerate(value["results"]):
            if rules[r["ruleIndex"]] != r["ruleId"]:  # 3.27.6
                out.append(f"{where}.results[{i}]: ruleIndex is not of {r['ruleId']}")
    if "kind" in value and value["kind"] != "fail" and value["level"] != "none":  # 3.27.9
        out.append(f"{where}: level {value['level']} of a result of kind {value['kind']}")
    if "text" in value:
        if "](" in value["text"]:  # 3.11.6
            out.append(f"{where}: a link in {value['text']!r}")
        if "{" in value["text"].replace("{{", "") or "}" in value["text"].replace("}}", ""):  # 3.11.5
            out.append(f"{where}: an argument in {value['text']!r}")
    return out
