"""Another user of the machine, who knows where `hodo view` and `hodo serve` are: stranger.py PORT SOCKET FOLDER PIDS...
Prints as JSON what there is for such a user: what each of the places answered, and all text of processes and files that can
be read. Who started it looks for the key in that."""

import http.client
import json
import os
import socket
import sys


def asked(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def connects(path):
    with socket.socket(socket.AF_UNIX) as one:
        try:
            one.connect(path)
        except OSError as error:
            return error.strerror
    return "connected"


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20).decode(errors="replace")
    except OSError:
        return ""


def main(port, path, folder, *processes):
    texts = {}
    for process in processes:
        for name in ("cmdline", "environ", "maps", "mem", "stack", "auxv", "fd/1", "fd/2"):
            texts[f"{process}/{name}"] = read(f"/proc/{process}/{name}")
    for process in filter(str.isdigit, os.listdir("/proc")):
        texts[f"{process}/cmdline"] = read(f"/proc/{process}/cmdline")
    listed = os.listdir(folder)
    for name in listed:
        texts[name] = read(os.path.join(folder, name))
    statuses = {place: asked(int(port), place) for place in ("/", "/page.js", "/rpc", f"/{'0' * 32}/", f"/{'f' * 32}/rpc")}
    print(json.dumps({"user": os.getuid(), "statuses": statuses, "socket": connects(path), "listed": sorted(listed), "texts": texts}))


main(*sys.argv[1:])
