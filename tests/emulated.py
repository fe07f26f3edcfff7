"""Whether QEMU records here. Debian 13's loads no plugins; what needs it is then not run, and counted as such."""

import functools
import json
import subprocess


@functools.cache
def missing(hodo):
    """Why it does not, as `hodo doctor` says; empty: it does."""
    done = subprocess.run([hodo, "doctor", "--json"], capture_output=True, text=True, check=False)
    qemu = json.loads(done.stdout)["means"]["qemu"]
    return "" if qemu["available"] else qemu["why"]


def was_missed(hodo, status, said):
    """Why a recording failed that only QEMU could have made; empty: it did not, or for another reason."""
    # Which of several paths to QEMU is named depends on PATH.
    why = missing(hodo)
    return why if status == 126 and why and why.partition(" ")[2] in said else ""


def why_not_32(hodo, command, options):
    """Why a test leaves a 32-bit program alone; empty: QEMU records it, or it is none, or the test says how to
    record it. By steps, as hodo would, it takes a minute and more."""
    if "--source" in options or not missing(hodo):
        return ""
    with open(command, "rb") as file:
        return missing(hodo) if file.read(5) == b"\x7fELF\x01" else ""
