"""Exit statuses, and the one line that says what went wrong."""

import os

from box import INCOMPLETE, Skip, check, equal


def _one_line(done, *words):
    text = done.stderr.decode()
    equal(text.count("\n"), 1, f"lines on stderr in {text!r}")
    check(text.startswith("hodo: "), f"{text!r} does not say who speaks")
    for word in words:
        check(word in text, f"{text!r} does not say {word!r}")


def zero(box):
    done = box.record([box.program("hello")])
    equal(done.stdout, b"hello\n", "output")
    equal(done.stderr, b"", "words on stderr")
    box.agrees_with_perf()


def seven(box):
    box.record(["sh", "-c", "exit 7"], status=7)
    box.stats()


def signals(box):
    # bash ends by the signal itself; a core file has no place in the test's folder.
    for number, status in ((11, 139), (6, 134), (9, 137), (15, 143)):
        done = box.record(["bash", "-c", f"ulimit -c 0; kill -{number} $$"], status=status)
        equal(done.stderr, b"", "words on stderr that are not the program's")
        box.branches(status=None)


def missing_program(box):
    _one_line(box.record(["no-such-program-anywhere"], status=127), "no-such-program-anywhere")
    _one_line(box.record([box.path("none")], status=127), "none", "No such file")
    check(not os.path.exists(box.data), "a recording of nothing was left behind")


def not_executable(box):
    text = box.write("text", "just text\n")
    _one_line(box.record([text], status=126), "Permission denied")
    _one_line(box.record([box.work], status=126), "Permission denied")
    os.chmod(text, 0o755)
    _one_line(box.record([text], status=126), "#!")
    check(not os.path.exists(box.data), "a recording of nothing was left behind")


def missing_interpreter(box):
    script = box.write("script", "#!/no/such/interpreter\n", 0o755)
    _one_line(box.record([script], status=127), "interpreter")


def unwritable_output(box):
    for data in (box.path("no/folder/trace.data"), box.work):
        _one_line(box.record([box.program("hello")], status=125, data=data), data)
        _one_line(
            box.record([box.program("hello")], ["--source", "step"], status=125, data=data), data
        )
    done = box.record([box.program("hello")], status=125, data="/dev/full")
    _one_line(done, "No space left")
    equal(done.stdout, b"", "output of a program that must not have run")


def missing_source(box):
    """127 is said of programs only."""
    hello = box.program("hello")
    for options in (["--source", "step"], ["--source", "qemu"], ["--source", "bts"]):
        _one_line(box.record([box.path("none")], options, status=127), "none")
    done = box.record([hello], status=126, env={"PATH": "/nonexistent"})
    _one_line(done, "qemu-x86_64 is not installed")
    if os.path.exists("/sys/bus/event_source/devices/intel_pt"):
        raise Skip("this machine has Intel PT")
    # Of the processor's sources the reason is told, not that QEMU cannot do it.
    for options in (["--source", "pt"], ["--source", "auto", "--level", "kernel"]):
        _one_line(box.record([hello], options, status=126), "Intel PT")
    _one_line(
        box.record([hello], ["--source", "bts", "--level", "kernel"], status=126),
        "branch trace store",
    )


def old_recording_is_kept(box):
    box.record([box.program("hello")])
    with open(box.data, "rb") as file:
        first = file.read()
    box.record(["sh", "-c", "exit 7"], status=7)
    with open(box.data + ".old", "rb") as file:
        equal(file.read() == first, True, "the first recording is in .old")
    box.stats()
    box.stats(data=box.data + ".old")


def old_recording_survives_a_typo(box):
    box.record([box.program("hello")])
    box.record(["no-such-program-anywhere"], status=127)
    box.stats()
    check(not os.path.exists(box.data + ".old"), "the recording was moved for nothing")


def end_by_signal_is_complete(box):
    """Nothing is missing from a program that was killed, as far as it came."""
    box.record([box.program("ends"), "kill"], status=137)
    stats = box.stats(status=None)
    check(stats["instructions"] > 1000, f"{stats['instructions']} instructions")


def nothing_recorded_is_said(box):
    """A shared library that stands in for the plugin is none of ours to test, but a QEMU that
    cannot run the program is: an ELF file that is cut off."""
    with open(box.program("hello"), "rb") as file:
        cut = file.read(200)
    path = box.path("cut")
    with open(path, "wb") as file:
        file.write(cut)
    os.chmod(path, 0o755)
    done = box.record([path], status=None)
    check(done.returncode not in (0, INCOMPLETE), f"exit status {done.returncode}")
    check(b"nothing was recorded" in done.stderr, f"{done.stderr!r}")
