"""test_installable.py BUILD: what ./hodo builds is all that `cmake --install` needs, as the README says.

BUILD is any build tree of CMake's for Ninja; nothing is built."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def launcher_targets():
    with open(os.path.join(ROOT, "hodo"), encoding="utf-8") as file:
        return re.search(r"ninja -C build/release ([^;]*);", file.read()).group(1).split()


def ninja(build, *arguments):
    command = ["ninja", "-C", build, "-t", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def installed_files(build):
    for folder, folders, names in os.walk(build):
        if "python" in folders and folder == build:
            folders.remove("python")  # the package, which is built and installed apart (docs/python.md)
        if "cmake_install.cmake" not in names:
            continue
        with open(os.path.join(folder, "cmake_install.cmake"), encoding="utf-8") as file:
            for path in re.findall(r'"([^"]*)"', file.read()):
                if path.startswith(build + os.sep):
                    yield os.path.normpath(path)


def main():
    build = os.path.realpath(sys.argv[1])
    made_by_ninja = {line.rpartition(": ")[0] for line in ninja(build, "targets", "all").splitlines()}
    commands = ninja(build, "commands", *launcher_targets())
    needed = [os.path.relpath(path, build) for path in installed_files(build)]
    needed = sorted(path for path in set(needed) if path in made_by_ninja)
    missing = [path for path in needed if not re.search(re.escape(path) + r"(\s|$)", commands)]
    print(f"{len(needed)} built files are installed; ./hodo does not build: {missing or 'none'}")
    sys.exit(1 if missing or len(needed) < 10 else 0)


main()
