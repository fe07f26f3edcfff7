#!/usr/bin/python3
"""Takes a recording of the engine apart: writes the trace of the thread that has the most of it to FILE, raw, and prints
the code that its process had mapped from files as `--image` of the reading commands and bench_decode have it.

    hodo record --no-timing --no-return-compression -o x.data -- COMMAND
    build/bench/bench/bench_decode x.pt $(bench/raw_trace.py --plain x.data x.pt)

Code that was made at run time is not among it; where that ran, decoding goes on at the next PSB. libxdc knows
neither compressed returns nor long TNT packets nor TraceStop: with --plain the second are written as short ones, the
third left out.
"""

import argparse
import collections
import struct
import sys

# linux/perf_event.h and tools/perf/util/event.h
MMAP2, AUXTRACE, COMPRESSED = 10, 71, (81, 83)
EXECUTABLE = 4
HEADER = struct.Struct("<8sQQQQQ")  # magic, size, attr_size, attrs, data
MAPPING = struct.Struct("<IIQQQ")  # pid, tid, address, length, offset
MAPPING_TAIL = 24 + 8  # inode or build-id, prot, flags
TRACE = struct.Struct("<QQQIIII")  # size, offset, reference, idx, tid, cpu, reserved


def records(file):
    """Type, body and where the bytes behind it begin."""
    head = file.read(HEADER.size + 8)
    if len(head) < HEADER.size + 8 or not head.startswith(b"PERFILE2"):
        sys.exit(f"raw_trace: {file.name} is not a perf.data file")
    at = HEADER.unpack_from(head)[-1]
    size = struct.unpack_from("<Q", head, HEADER.size)[0]
    end = at + size
    while at + 8 <= end:
        file.seek(at)
        kind, _, length = struct.unpack("<IHH", file.read(8))
        if length < 8:
            sys.exit(f"raw_trace: {file.name} is damaged at {at}")
        body = file.read(length - 8)
        at += length
        if kind in COMPRESSED:
            sys.exit(f"raw_trace: {file.name} is compressed")
        yield kind, body, at
        if kind == AUXTRACE:
            at += TRACE.unpack_from(body)[0]


# SDM vol. 3, "Trace Packets and Data Types": what follows 02, with its bytes in all.
LONG_TNT, TRACE_STOP = 0xA3, 0x83
EXTENDED = {LONG_TNT: 8, TRACE_STOP: 2, 0x82: 16, 0x23: 2, 0x03: 4, 0x43: 8, 0xF3: 2, 0x73: 7, 0xC3: 11, 0xC8: 7}
IP_BYTES = (0, 2, 4, 6, 6, 0, 8, 0)


def length_of(trace, at):
    first = trace[at]
    if first == 2:
        return EXTENDED.get(trace[at + 1], 0)
    if first & 1 == 0:  # PAD, short TNT
        return 1
    if first in (0x99, 0x59):  # MODE, MTC
        return 2
    if first == 0x19:  # TSC
        return 8
    return 1 + IP_BYTES[first >> 5] if first & 0x1F in (0x01, 0x0D, 0x11, 0x1D) else 0


def short_tnts(payload):
    outcomes = bin(int.from_bytes(payload, "little"))[3:]  # behind the stop bit
    return bytes(int("1" + outcomes[i : i + 6], 2) << 1 for i in range(0, len(outcomes), 6))


def made_plain(trace):
    out = bytearray()
    at = done = 0
    while at < len(trace):
        length = length_of(trace, at)
        if length == 0:
            sys.exit(f"raw_trace: a packet at {at} of the trace that this knows nothing of")
        if trace[at] == 2 and trace[at + 1] in (LONG_TNT, TRACE_STOP):
            out += trace[done:at]
            done = at + length
            if trace[at + 1] == LONG_TNT:
                out += short_tnts(trace[at + 2 : done])
        at += length
    return out + trace[done:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("recording")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--plain", action="store_true", help="without the packets that libxdc does not know")
    options = parser.parse_args()
    pieces = collections.defaultdict(list)  # by thread: offset and size
    images = collections.defaultdict(list)  # by process
    process = {}  # of a thread
    with open(options.recording, "rb") as file:
        for kind, body, behind in records(file):
            if kind == AUXTRACE:
                size, _, _, _, tid, _, _ = TRACE.unpack_from(body)
                pieces[tid].append((behind, size))
            elif kind == MMAP2:
                pid, tid, address, length, offset = MAPPING.unpack_from(body)
                process[tid] = pid
                prot = struct.unpack_from("<I", body, MAPPING.size + 24)[0]
                path = body[MAPPING.size + MAPPING_TAIL :].split(b"\0", 1)[0].decode()
                if path.startswith("/") and (prot & EXECUTABLE or prot == 0):
                    images[pid].append(f"bin:{address:#x}:{path}:{offset:#x}:{length:#x}")
        if not pieces:
            sys.exit(f"raw_trace: {file.name} has no Intel PT trace")
        tid = max(pieces, key=lambda one: sum(size for _, size in pieces[one]))
        trace = bytearray()
        for at, size in pieces[tid]:
            file.seek(at)
            trace += file.read(size)
    with open(options.file, "wb") as out:
        out.write(made_plain(trace) if options.plain else trace)
    print(*images[process.get(tid, tid)])


if __name__ == "__main__":
    main()
