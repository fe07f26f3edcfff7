"""Programs that work against their recorder: it survives and says so."""

from box import check, equal


def _hostile(box, how):
    done = box.record([box.own("hostile"), how], status=None)
    areas = int(done.stdout.split()[0]) if done.stdout.split() else 0
    check(areas > 0, f"the program did not find its channel: {done.stdout!r}")
    print(how, done.returncode, done.stdout, done.stderr.decode())
    check(done.returncode >= 0, f"hodo was killed by signal {-done.returncode}")
    stats = box.stats(status=None)
    box.read("report", None)
    check(stats["instructions"] > 100000, f"{stats['instructions']} instructions")
    return done


def _overwrites(box, how):
    done = _hostile(box, how)
    check(b"overwrote the memory" in done.stderr, f"no word about the damage: {done.stderr!r}")


def unmaps_the_channel(box):
    """The trace unit is gone, so the program dies of it. What it had written is kept."""
    equal(_hostile(box, "unmap").returncode, 139, "exit status")


def fills_the_channel_with_ones(box):
    _overwrites(box, "ones")


def fills_the_channel_with_zeros(box):
    _overwrites(box, "zeros")


def fills_the_channel_at_random(box):
    _overwrites(box, "random")
