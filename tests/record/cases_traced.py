"""Recorded processes that another process of the recording traces, and what comes behind that."""

import json
import re

from box import INCOMPLETE, check, equal


def _calls(box):
    """How often each function was called in the whole recording."""
    tree = json.loads(box.read("calls", INCOMPLETE, options=["--format", "json"]))
    names = [one["name"] for one in tree["functions"]]
    counted = {}
    for thread in tree["threads"]:
        for path in thread["paths"]:
            name = names[path["function"]]
            counted[name] = counted.get(name, 0) + path["calls"]
    return {name: counted.get(name, 0) for name in ("before", "meanwhile", "afterwards")}


def _released(box, how, times=1):
    """Recorded as natively; the summary's words on what is missing."""
    program = box.own("released")
    alone = box.run([program, how, str(times)])
    recorded = box.record([program, how, str(times), "recorded"])
    equal(recorded.stdout, alone.stdout, how)
    check(b"ended: " in alone.stdout and b"no step" not in alone.stdout, f"{alone.stdout!r}")
    losses = box.report(INCOMPLETE)["losses"]
    return [site["reason"] for loss in losses if loss["cause"] == "not-recorded" for site in loss["sites"]]


def _comes_back(box, how, times=1, threads=1):
    losses = _released(box, how, times)
    equal(len(losses), times, f"{losses}")
    equal(_calls(box), {"before": threads, "meanwhile": 0, "afterwards": threads * times}, how)
    for loss in losses:
        span = re.match(r"process \d+ \(released\) was not recorded from ([0-9.]+) to ([0-9.]+): .*traced it$", loss)
        check(span and float(span[1]) < float(span[2]), loss)
    check("no finding in " in box.read("check", INCOMPLETE), "findings")


def recorded_again_when_the_tracer_has_left(box):
    _comes_back(box, "once")


def traced_again_and_again(box):
    _comes_back(box, "again", times=4)


def recorded_again_when_the_tracer_was_killed(box):
    _comes_back(box, "killed")


def recorded_again_behind_an_exec(box):
    _comes_back(box, "executes")


def recorded_again_with_all_threads(box):
    _comes_back(box, "threads", threads=21)


def recorded_again_where_it_was_left_stopped(box):
    _comes_back(box, "stopped")


def dies_while_it_is_traced(box):
    losses = _released(box, "dies")
    check(len(losses) == 1 and "went on without being recorded from " in losses[0], f"{losses}")
    equal(_calls(box), {"before": 1, "meanwhile": 0, "afterwards": 0}, "calls")


def traced_when_the_recording_has_ended(box):
    program = box.own("released")
    alone = box.run([program, "itself", "4"])
    recorded = box.record([program, "itself", "4"], ["--max-size", "50K"])
    equal(recorded.stdout, alone.stdout, "children")
    equal(alone.stdout, b"ended: b00\n" * 4, "natively")
