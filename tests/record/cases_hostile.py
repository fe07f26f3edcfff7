"""Programs that work against their recorder: it survives, and the recording says from where on it
cannot be trusted (docs/trust.md)."""

import json

from box import COMPLETE, INCOMPLETE, Skip, check, equal

CAUSE = "channel-overwritten"


def _hostile(box, *how, options=(), may_be_harmless=False):
    done = box.record([box.own("hostile"), *how], options, status=None)
    areas = int(done.stdout.split()[0]) if done.stdout.split() else 0
    check(areas > 0, f"the program did not find its channel: {done.stdout!r}")
    print(how, done.returncode, done.stdout, done.stderr.decode())
    check(done.returncode >= 0, f"hodo was killed by signal {-done.returncode}")
    check(done.returncode != 0 or may_be_harmless, "hodo record says that all is well")
    check(b"disk" not in done.stderr, f"the disk is blamed: {done.stderr!r}")
    return done


def _told(box, *how, options=()):
    """Whatever was done to the channel: who, from where on and why, and no clean verdict."""
    return _says_so(box, _hostile(box, *how, options=options), options)


def _says_so(box, done, options=()):
    check(b"wrote over the memory" in done.stderr, f"no word about it: {done.stderr!r}")
    report = box.report(INCOMPLETE)
    lines = [loss for loss in report["losses"] if loss["cause"] == CAUSE]
    equal(len(lines), 1, f"losses of this cause in {report['losses']}")
    site = lines[0]["sites"][0]
    check(site["tid"] > 0 and site["time"] > 0, f"no place: {site}")
    check("lbr" in options or site["offset"] > 0, f"no place in the stream: {site}")
    check("cannot" in lines[0]["remedy"] or "verdict" in lines[0]["remedy"], "no remedy")
    check(CAUSE in box.read("report", INCOMPLETE), "the report does not say so")
    checked = box.run([box.hodo, "check", "--json", box.data])
    equal(checked.returncode, INCOMPLETE, "exit status of hodo check")
    check(not json.loads(checked.stdout)["complete"], "hodo check believes it")
    # What came before is there, and all of it was so.
    least = 1000 if "lbr" in options else 100000
    check(report["instructions"] > least, f"{report['instructions']} instructions")
    equal({loss["cause"] for loss in report["losses"]}, {CAUSE}, "causes")
    return done


def _told_or_refused(box, *how):
    """The engine does not let the program's system calls touch what it lives in."""
    if box.source != "dbi":
        return _told(box, *how)
    done = box.record([box.own("hostile"), *how])
    check(int(done.stdout.split()[0]) > 0, "the program did not find its channel")
    check(b"wrote over" not in done.stderr, f"accused: {done.stderr!r}")
    return box.stats(COMPLETE)


def _told_or_harmless(box, *how):
    """Harms nothing where the recorder had taken all that was there when it was written over: what
    QEMU's unit writes it seals every 4 KB, the engine writes into the ring as it hands over.
    Returns whether it was told."""
    done = _hostile(box, *how, may_be_harmless=True)
    if b"wrote over" in done.stderr:
        _says_so(box, done)
        return True
    box.stats(COMPLETE)
    box.agrees_with_perf()
    return False


def takes_the_channel_away(box):
    for how in ("unmap", "protect", "remap", "move", "empty"):
        _told_or_refused(box, how)


def makes_the_file_shorter(box):
    """Of which the recorder would get SIGBUS. Who may open it (root) is refused."""
    done = box.record([box.own("hostile"), "shorten"])
    if b"not permitted" in done.stdout:
        raise Skip("only root can open the files of a process's mappings")
    check(b"refused" in done.stdout and b"shorter" not in done.stdout, f"{done.stdout!r}")
    box.stats(COMPLETE)


def takes_another_threads_channel_away(box):
    _told_or_refused(box, "unmap", "thread")


def fills_the_channel(box):
    for how in ("ones", "zeros", "random", "mem"):
        _told(box, how)


def fills_the_header(box):
    for how in ("ones", "zeros", "random"):
        _told(box, how, "header")


def fills_the_ring(box):
    told = [_told_or_harmless(box, how, "ring") for how in ("ones", "zeros", "random", "mem")]
    check(box.source == "dbi" or any(told), "QEMU's unit writes there all the time")


def fills_pages_of_the_header(box):
    """The settings are in the first ones, then what is handed over."""
    for page in range(0, 8, 2):
        _told(box, "ones", str(page))


def puts_back_what_was_there(box):
    """All of it, or where the trace seems to end; with which it then ends."""
    _told(box, "old")
    _told_or_harmless(box, "old", "ring")
    _told(box, "old", "header", "kill")


def fills_and_ends_at_once(box):
    for where in ("all", "header"):
        _told(box, "ones", where, "kill")
    _told_or_harmless(box, "ones", "ring", "kill")


def fills_the_ring_of_other_sources(box):
    for source in ("bts", "lbr"):
        _told(box, "ones", "all", options=["--source", source])


def leaves_the_channel_alone(box):
    done = box.record([box.own("hostile"), "none"])
    check(b"wrote over" not in done.stderr, f"accused: {done.stderr!r}")
    box.stats(COMPLETE)
    # What a killed program leaves behind is whole.
    box.record([box.own("hostile"), "none", "all", "kill"], status=137)
    box.stats(COMPLETE)
    box.agrees_with_perf()
