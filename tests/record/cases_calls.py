"""Call trees of recorded programs: calls and returns that do not pair are followed."""

import json

from box import check, equal


def _tree(box, data=None):
    return json.loads(box.read("calls", 0, data, ["--json"]))


def _names(tree, thread):
    """Each path as a tuple of names, with its own line."""
    paths = []
    for line in thread["paths"]:
        above = () if line["parent"] is None else paths[line["parent"]][0]
        paths.append(((*above, tree["functions"][line["function"]]["name"]), line))
    return paths


def _below_main(tree, thread):
    """{"main;f;g": line} from the program's main on."""
    found = {}
    for names, line in _names(tree, thread):
        if "main" in names:
            found[";".join(names[names.index("main") :])] = line
    return found


def _complete(box, tree):
    """Every instruction is in one path."""
    total = sum(path["self_instructions"] for t in tree["threads"] for path in t["paths"])
    equal(total + tree["other"]["instructions"], box.stats()["instructions"], "instructions")
    equal(sum(t["gaps"] for t in tree["threads"]), 0, "gaps")


def calls_of_longjmp(box):
    box.record([box.program("longjmp")])
    tree = _tree(box)
    _complete(box, tree)
    (thread,) = tree["threads"]
    equal(thread["restarts"], 0, "restarts")
    paths = _below_main(tree, thread)
    # 100 rounds, i % 7 deep; each comes back to main and not below the one before.
    equal(paths["main;leap"]["calls"], 100, "leap")
    equal(paths["main" + 7 * ";leap"]["calls"], 14, "the deepest leap")
    check("main" + 8 * ";leap" not in paths, "no leap is deeper than 7")


def calls_of_exceptions(box):
    box.record([box.program("exceptions")])
    tree = _tree(box)
    _complete(box, tree)
    (thread,) = tree["threads"]
    equal(thread["restarts"], 0, "restarts")
    mains = [path for path in _below_main(tree, thread) if path == "main"]
    equal(len(mains), 1, "main stands in one place")


def calls_of_signals(box):
    box.record([box.program("signals")])
    tree = _tree(box)
    _complete(box, tree)
    (thread,) = tree["threads"]
    equal(thread["restarts"], 0, "restarts")
    check(
        any("on_" in path or "handle" in path for path in _below_main(tree, thread)),
        f"handlers are below main: {sorted(_below_main(tree, thread))[:40]}",
    )


def calls_of_threads(box):
    box.record([box.program("threads")])
    tree = _tree(box)
    _complete(box, tree)
    workers = [t for t in tree["threads"] if t["comm"].startswith("worker")]
    equal(len(workers), 4, "workers")
    for worker in workers:
        check(
            any(names[-1] == "work" for names, _ in _names(tree, worker)),
            f"{worker['comm']} works",
        )


def folded_calls_are_a_flame_graph(box):
    box.record([box.program("tail_calls")])
    lines = box.read("calls", 0, None, ["--format", "folded"]).splitlines()
    weights = [int(line.rpartition(" ")[2]) for line in lines]
    equal(sum(weights), box.stats()["instructions"], "instructions")
    check(any(";main;ping;pong " in line for line in lines), "a tail call is below its caller")
