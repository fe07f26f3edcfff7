#!/usr/bin/python3
"""Attaches to a busy redis-server again and again (hodo record -p) and lets go of it.

    bench/attach_redis.py [--hodo FILE] [--times 1000] [--duration 50ms] [--port 7399]

redis-benchmark loads the server over loopback all the while, and a client of our own measures how
long each of its requests takes, one after the other. Fails if a client sees an error, the server
ends, or something is left behind in it: the engine's memory, descriptors, threads, or memory that
grows. Needs redis-server and redis-benchmark (Debian: redis-server, redis-tools).

The pauses are in milliseconds of this machine as it is then; the first line has those without hodo,
for as long, under the same load. Other load on the machine counts in both.
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Client(threading.Thread):
    """One request after the other; the longest pauses."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port = port
        self.error = None
        self.over = False
        self.count = 0
        self.pauses = []

    def run(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port)) as server:
                server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while not self.over:
                    begin = time.monotonic()
                    server.sendall(b"PING\r\n")
                    answer = server.recv(64)
                    if answer != b"+PONG\r\n":
                        raise OSError(f"answer {answer!r}")
                    self.pauses.append((time.monotonic() - begin) * 1000)
                    self.count += 1
        except OSError as error:
            self.error = error

    def take(self):
        taken, self.pauses = self.pauses, []
        return taken


def described(name, pauses):
    pauses = sorted(pauses)
    parts = [f"{share * 100:g} % {pauses[min(len(pauses) - 1, int(len(pauses) * share))]:.2f}"
             for share in (0.5, 0.99, 0.999)]
    return f"{name}: {len(pauses)} requests, ms: {', '.join(parts)}, longest {pauses[-1]:.2f}"


def status(pid, field):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    return 0


def state_of(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        maps = file.read().splitlines()
    return {
        "mappings of the engine": sum(line.startswith(("3ff", "7ea")) for line in maps),
        "channels": sum("memfd:hodo" in line for line in maps),
        "threads": len(os.listdir(f"/proc/{pid}/task")),
        "mappings": len(maps),
        "KiB": status(pid, "VmRSS"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hodo", default=os.path.join(HERE, "../build/dev/src/cli/hodo"))
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--duration", default="50ms")
    parser.add_argument("--port", type=int, default=7399)
    parser.add_argument("--clients", type=int, default=10, help="of redis-benchmark")
    options = parser.parse_args()
    tools = [shutil.which(name) for name in ("redis-server", "redis-benchmark")]
    if None in tools:
        print("redis-server and redis-benchmark are needed", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as work:
        return run(options, work, *tools)


def run(options, work, server_program, benchmark_program):
    server = subprocess.Popen(
        [server_program, "--port", str(options.port), "--bind", "127.0.0.1", "--save", "",
         "--dir", work, "--daemonize", "no"], stdout=subprocess.DEVNULL)
    time.sleep(1)
    load = subprocess.Popen(
        [benchmark_program, "-p", str(options.port), "-c", str(options.clients), "-l", "-q",
         "-t", "set,get,lpush,lpop,incr"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    client = Client(options.port)
    client.start()
    try:
        return attach(options, work, server, load, client)
    finally:
        for process in (load, server):
            process.kill()
            process.wait()


def attach(options, work, server, load, client):
    time.sleep(1)
    client.take()
    time.sleep(max(3, min(20, options.times * 0.1)))
    print(described("without hodo", client.take()))
    data = os.path.join(work, "data")
    longest, during, failed = [], [], 0
    first = last = None
    for n in range(options.times):
        done = subprocess.run(
            [options.hodo, "record", "--source", "dbi", "-q", "-o", data, "-p", str(server.pid),
             "--duration", options.duration], capture_output=True, text=True, timeout=120)
        pauses = client.take()
        if pauses:
            longest.append(max(pauses))
            during += pauses
        if done.returncode != 0:
            failed += 1
            print(f"attach {n}: {done.stderr}", file=sys.stderr)
        if server.poll() is not None or load.poll() is not None or client.error:
            print(f"after {n + 1}: server {server.poll()}, redis-benchmark {load.poll()}, own client"
                  f" {client.error}", file=sys.stderr)
            return 1
        last = state_of(server.pid)
        if n == min(10, options.times - 1):
            first = last
        if last["mappings of the engine"] or last["channels"]:
            print(f"left behind after {n + 1}: {last}", file=sys.stderr)
            return 1
    client.over = True
    print(described(f"attached {options.times} times for {options.duration}", during))
    longest.sort()
    print(f"longest pause of each time, ms: median {longest[len(longest) // 2]:.1f},"
          f" 90 % {longest[int(len(longest) * 0.9)]:.1f}, longest {longest[-1]:.1f}")
    print(f"the server after a few: {first}\n           at the end: {last}")
    grown = last["KiB"] - first["KiB"]
    return 1 if failed or grown > 16 << 10 or last["mappings"] > first["mappings"] + 8 else 0


if __name__ == "__main__":
    sys.exit(main())
