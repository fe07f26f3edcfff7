"""Programs of other languages' runtimes, which have to be installed: see corpus.txt."""

import hashlib
import os
import shlex
import shutil
import subprocess

from cases_clean import clean
from harness import SOURCES, Failure, Skip, lines

CORPUS = os.path.join(SOURCES, "tests/check/corpus")


def built(tool, packages, options, build, command):
    """Builds the program, unrecorded, and then has it recorded and judged like any other."""
    place = lambda text: text.replace("{C}", CORPUS).replace("{W}", tool.work)
    for line in filter(None, (build, command)):
        # The last command of a build is the compiler.
        word = shlex.split(line.split(";")[-1])[0]
        if not word.startswith("./") and shutil.which(word) is None:
            raise Skip(f"{word} is not installed (apt-get install {packages})")
    if build:
        done = subprocess.run(
            place(build), shell=True, cwd=tool.work, capture_output=True, text=True, errors="replace",
            check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise Failure(f"the build: status {done.returncode}\n{done.stdout}{done.stderr}")
    # hodo would take a relative program from where this script runs.
    command = os.path.join(tool.work, command[2:]) if command.startswith("./") else command
    clean(tool, options, place(command))


def programs(part=""):
    """{case: function of a tool}; of a part, the tenth that is chosen by its name."""
    out = {}
    for name, *fields in lines("corpus.txt"):
        chosen = hashlib.sha256(f"{part} {name}".encode()).digest()[0] % 10 == 0
        if not part or chosen:
            out[f"corpus.{name}"] = lambda tool, fields=fields: built(tool, *fields)
    return out
