"""A machine whose QEMU cannot do what hodo needs."""

import json
import os

from box import check, equal


def _with_qemu(box, script):
    """An environment in which `script` is QEMU."""
    folder = box.path("bin")
    os.makedirs(folder, exist_ok=True)
    for name in ("qemu-x86_64", "qemu-i386"):
        box.write(f"bin/{name}", "#!/bin/sh\n" + script, mode=0o755)
    return os.environ | {"PATH": f"{folder}:/usr/bin:/bin"}


# As Debian 13's, which is linked statically.
WITHOUT_PLUGINS = "echo \"qemu: unknown option 'plugin'\" >&2; exit 1"
# Takes the plugin when it is asked, and fails when the program is to run.
BROKEN = """case "$2" in *probe=on) echo "hodo's plugin is loaded"; exit 0 ;; esac
echo qemu: no memory >&2; exit 1"""


def without_plugins(box):
    old = box.write("trace.data", "an older recording")
    done = box.record(
        ["true"], ["--source", "qemu"], status=126, env=_with_qemu(box, WITHOUT_PLUGINS)
    )
    check(b"unknown option 'plugin'" in done.stderr, f"no reason: {done.stderr!r}")
    check(b"remedy: " in done.stderr, f"no remedy: {done.stderr!r}")
    with open(old, encoding="utf-8") as file:
        equal(file.read(), "an older recording", "the file that was there")
    equal(os.listdir(box.work).count("trace.data.old"), 0, "files moved aside")


def without_plugins_the_engine_records(box):
    box.record(
        [box.own("stepped")], ["--source", "auto"], status=5, env=_with_qemu(box, WITHOUT_PLUGINS)
    )
    check(box.stats()["branches"]["taken"] > 5, "no branches")
    for options in (["--source", "auto", "--cyc"], ["--source", "bts"], ["--source", "lbr"]):
        box.record([box.own("stepped")], options, 5, env=_with_qemu(box, WITHOUT_PLUGINS))
    # What the engine cannot do is stepped, and said.
    done = box.record(
        [box.program("hello_static_32")], ["--source", "auto"], 0, env=_with_qemu(box, WITHOUT_PLUGINS)
    )
    check(b"the program is stepped" in done.stderr, f"not said: {done.stderr!r}")
    check(b"remedy: " in done.stderr, f"no remedy: {done.stderr!r}")


def without_plugins_the_doctor_says_so(box):
    done = box.run([box.hodo, "doctor", "--json"], env=_with_qemu(box, WITHOUT_PLUGINS))
    qemu = json.loads(done.stdout)["means"]["qemu"]
    equal(qemu["available"], False, "QEMU")
    check("unknown option 'plugin'" in qemu["why"], qemu["why"])
    check("--enable-plugins" in qemu["remedy"], qemu["remedy"])


def that_fails_leaves_nothing(box):
    old = box.write("trace.data", "an older recording")
    done = box.record(["true"], status=125, env=_with_qemu(box, BROKEN))
    check(b"qemu: no memory" in done.stderr, "QEMU's words")
    check(b"nothing was recorded" in done.stderr, f"hodo's words: {done.stderr!r}")
    with open(old, encoding="utf-8") as file:
        equal(file.read(), "an older recording", "the file that was there")
