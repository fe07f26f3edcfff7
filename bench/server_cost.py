#!/usr/bin/python3
"""What recording costs a server under load: redis-server with two I/O threads, natively and under
hodo record in turn, answers redis-benchmark's requests over loopback.

    cmake --preset release && ninja -C build/release
    bench/server_cost.py --hodo build/release/src/cli/hodo [--rounds 5] [--requests 200000]

Prints requests a second of each way (median, smallest, greatest) and the share that recording
loses; every recording has to be complete. The client works on the same processors: what it takes
is in both. Needs redis-server and redis-benchmark (Debian: redis-server, redis-tools).
"""

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

TESTS = ("SET", "GET")


def wait_for(port, server):
    for _ in range(400):
        if server.poll() is not None:
            sys.exit(f"server_cost: the server ended with {server.returncode}")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as client:
                client.sendall(b"PING\r\n")
                if client.recv(64) == b"+PONG\r\n":
                    return
        except OSError:
            time.sleep(0.05)
    sys.exit("server_cost: the server does not answer")


def load(port, requests):
    """Requests a second by test."""
    done = subprocess.run(
        ["redis-benchmark", "-p", str(port), "-t", ",".join(TESTS).lower(), "-c", "20", "-n", str(requests), "--csv"],
        capture_output=True, text=True, check=True,
    )
    rows = [line.replace('"', "").split(",") for line in done.stdout.splitlines()]
    return {row[0]: float(row[1]) for row in rows if row[0] in TESTS}


def serve(way, options, work):
    command = ["redis-server", "--port", str(options.port), "--io-threads", "2", "--save", "", "--dir", work]
    recording = os.path.join(work, "server.data")
    if way == "recorded":
        command = [options.hodo, "record", "-q", "--source", "dbi", "-o", recording, "--", *command]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait_for(options.port, server)
        load(options.port, options.requests // 10)  # warms up
        speeds = load(options.port, options.requests)
        subprocess.run(["redis-cli", "-p", str(options.port), "shutdown", "nosave"], check=True)
        if server.wait(60) != 0:
            sys.exit(f"server_cost: exit status {server.returncode} {way}")
    finally:
        if server.poll() is None:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    if way == "recorded":
        check(options.hodo, recording)
    return speeds


def check(hodo, recording):
    done = subprocess.run([hodo, "stats", "--json", recording], capture_output=True, text=True)
    if done.returncode != 0 or json.loads(done.stdout)["losses"]:
        sys.exit(f"server_cost: the recording is not complete: {done.stderr}")
    os.remove(recording)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--hodo", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=200000)
    parser.add_argument("--port", type=int, default=7398)
    options = parser.parse_args()
    for program in ("redis-server", "redis-benchmark", "redis-cli"):
        if shutil.which(program) is None:
            sys.exit(f"server_cost: {program} is not installed (Debian: redis-server, redis-tools)")
    runs = {"native": [], "recorded": []}
    with tempfile.TemporaryDirectory(prefix="hodo-bench-", dir="/var/tmp") as work:
        for _ in range(options.rounds):
            for way, speeds in runs.items():
                speeds.append(serve(way, options, work))
    for test in TESTS:
        for way, speeds in runs.items():
            of_test = [one[test] for one in speeds]
            print(f"{test} {way:9}{statistics.median(of_test):9.0f} a second ({min(of_test):.0f}-{max(of_test):.0f})")
        lost = [100 * (1 - slow[test] / fast[test]) for slow, fast in zip(runs["recorded"], runs["native"])]
        print(f"{test} lost {statistics.median(lost):.0f} % ({min(lost):.0f}-{max(lost):.0f})", flush=True)


if __name__ == "__main__":
    main()
