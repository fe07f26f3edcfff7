"""Memory does not grow with the trace."""

import os

from box import check, equal, wait_for

BUFFER = 4 << 10  # KiB per thread; of it, what waited for hodo at once is in its memory, there and as a copy
MOST_FOR_HODO = 64 << 10


def _peak(pid):
    """KiB of the largest resident set so far."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def _child(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return int(file.read().split()[0])


def bounded(box):
    process = box.start([box.own("spin"), "600", "1000000000", "calls"])
    equal(process.stdout.readline(), b"ready\n", "the program's first line")
    program = _child(process.pid)
    peaks = []
    for size in (30 << 20, 300 << 20):
        wait_for(lambda size=size: os.path.getsize(box.data) > size, f"{size} bytes of trace", 120)
        peaks.append((_peak(process.pid), _peak(program)))
    process.terminate()
    process.communicate(timeout=60)
    os.remove(box.data)
    print(f"KiB of hodo and QEMU after 30 MiB: {peaks[0]}, after 300 MiB: {peaks[1]}")
    check(peaks[1][0] < MOST_FOR_HODO, f"hodo took {peaks[1][0]} KiB")
    for early, late in zip(*peaks):
        check(late <= early + 2 * BUFFER + 2048, f"memory grew from {early} to {late} KiB")
