"""Children, threads, other programs."""

import os
import time

from box import COMPLETE, INCOMPLETE, check, equal, wait_for


def _comms(box, status=COMPLETE):
    return set(box.names(status))


def shell_script(box):
    script = box.write(
        "script.sh", "#!/bin/sh\n/bin/echo one\n/usr/bin/env /bin/echo two | cat\n", 0o755
    )
    equal(box.record([script]).stdout, b"one\ntwo\n", "output")
    names = _comms(box)
    check({"script.sh", "echo", "cat"} <= names, f"names {names}")
    box.agrees_with_perf()


def env_and_xargs(box):
    command = ["sh", "-c", "printf 'a\\nb\\n' | xargs -n1 env X=1 /bin/echo got"]
    equal(box.record(command).stdout, b"got a\ngot b\n", "output")
    names = box.names()
    equal(names.count("echo"), 2, f"echo among {names}")
    check("xargs" in names, f"names {names}")


def nested_scripts(box):
    inner = box.write("inner", "#!/bin/sh\necho inner $0 $*\n", 0o755)
    outer = box.write("outer", f"#!{inner} -x\n", 0o755)
    alone = box.run([outer, "a", "b"])
    equal(box.record([outer, "a", "b"]).stdout, alone.stdout, "output")


def no_follow(box):
    command = ["sh", "-c", "/bin/echo one; /bin/echo two"]
    equal(box.record(command, ["--no-follow"]).stdout, b"one\ntwo\n", "output")
    names = _comms(box)
    check("echo" not in names and "sh" in names, f"names {names}")
    box.agrees_with_perf()


def wide_to_narrow_and_back(box):
    """A 64-bit shell starts a 32-bit program; a 32-bit one executes 64-bit ones."""
    narrow, wide = box.program("hello_32"), box.program("hello")
    equal(box.record(["sh", "-c", f"{narrow}; {wide}"]).stdout, b"hello\nhello\n", "output")
    box.agrees_with_perf()
    executes = box.own("executes_32")
    done = box.record([executes, wide])
    equal(done.stdout, b"executing\nhello\n", "output")
    names = _comms(box)
    check("hello" in names, f"names {names}")
    box.agrees_with_perf()


def thread_names(box):
    box.record([box.own("named_threads")])
    names = _comms(box)
    check({"named_threads", "weaver", "spinner"} <= names, f"names {names}")
    box.agrees_with_perf()


def daemon(box):
    """What goes on after the program has ended belongs to the recording as long as the program's
    own end does not finish it; either way the daemon does its work."""
    done_file = box.path("done")
    box.record([box.own("daemon"), done_file])
    wait_for(lambda: os.path.exists(done_file) and os.path.getsize(done_file) == 4, "the daemon")
    box.stats(status=None)
    box.perf_reads()


def closes_every_descriptor(box):
    close_range = 436
    code = f"syscall({close_range}, 3, 4096, 0) == 0 or die; print 'echo: ', `/bin/echo x`;"
    equal(box.record(["perl", "-e", code]).stdout, b"echo: x\n", "output")
    names = _comms(box)
    check("echo" in names, f"names {names}")
    box.agrees_with_perf()


def changes_user(box):
    """A program that gives its rights up is still recorded, as are its children."""
    if os.geteuid() != 0:
        from box import Skip

        raise Skip("only root can change the user")
    code = "import os; os.setgid(65534); os.setuid(65534); os.system('/bin/echo $(id -u)')"
    os.chmod(box.work, 0o755)
    done = box.record(["/usr/bin/python3", "-S", "-E", "-c", code])
    equal(done.stdout, b"65534\n", "output")
    names = _comms(box)
    check("echo" in names, f"names {names}")


def a_process_that_outlives_the_program(box):
    """Its trace ends with the program's, and the recording says so."""
    outlived = ["sh", "-c", "(sleep 0.7; exec tail -c 0 /dev/null) & exit 5"]
    done = box.record(outlived, status=5)
    check(b"had not ended: what it did later was not recorded; --wait-all" in done.stderr, f"{done.stderr!r}")
    equal(box.losses(), {"not-recorded"}, "losses")
    box.read("check", INCOMPLETE)
    check("tail" not in _comms(box, INCOMPLETE), "it was recorded")
    done = box.record(outlived, ["--wait-all"], status=5)
    equal(done.stderr, b"", "words on stderr")
    check("tail" in _comms(box), "it was not recorded")
    box.stats()


def set_user_id_program(box):
    """Runs natively, with a warning: QEMU cannot give it its rights."""
    program = box.path("becomes")
    with open(box.program("hello"), "rb") as file:
        content = file.read()
    with open(program, "wb") as file:
        file.write(content)
    if os.geteuid() != 0:
        from box import Skip

        raise Skip("only root can make a program of another user")
    os.chown(program, 65534, 65534)
    os.chmod(program, 0o4755)
    done = box.record(["sh", "-c", f"{program}; exit 5"], status=5)
    equal(done.stdout, b"hello\n", "output")
    check(b"becomes ran without being recorded: it is set-user-ID" in done.stderr, f"{done.stderr!r}")
    check("becomes" not in _comms(box, INCOMPLETE), "it was recorded")
    equal(box.losses(), {"not-recorded"}, "losses")
    # By itself there would be nothing to record.
    done = box.record([program], status=126)
    check(b"set-user-ID" in done.stderr, f"{done.stderr!r}")


def many_threads(box):
    started = time.monotonic()
    box.record([box.own("tasks"), "threads", "1000"])
    print(f"{time.monotonic() - started:.1f} s")
    stats = box.stats()
    equal(len(stats["queues"]), 1001, "threads")
    box.agrees_with_perf()


def many_forks(box):
    box.record([box.own("tasks"), "forks", "200"])
    equal(len(box.stats()["queues"]), 201, "processes")
    box.agrees_with_perf()


def exec_that_fails(box):
    """The program gets the error that it would get, and goes on."""
    code = "for my $name ('/no/such', '/etc/passwd', '/') { exec { $name } 'x'; print $! + 0, qq(\\n); }"
    arguments = ["perl", "-e", code]
    equal(box.record(arguments).stdout, box.run(arguments).stdout, "output")
    box.agrees_with_perf()
