"""A program sees what it would see without hodo."""

import os
import pty
import signal
import subprocess

from box import COMPLETE, Skip, check, equal

# What the shell or ctest put there differs from nothing but itself.
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/tmp",
    "EMPTY": "",
    "COMMAS": "a,b,,c",
    "LD_LIBRARY_PATH": "/nowhere:/also/nowhere",
    "LD_BIND_NOW": "1",
    "QEMU_LOG": "exec",
    "QEMU_STRACE": "1",
    "MALLOC_ARENA_MAX": "1",
    "SPACES": " a b ",
}

ACTS_ON_QEMU = ("env LD_", "env QEMU_", "env MALLOC_")


def _lines(output):
    """Variables that act on QEMU reach the program in front of the others, not in their order."""
    lines = output.decode(errors="surrogateescape").splitlines()
    special = [n for n, line in enumerate(lines) if line.startswith(ACTS_ON_QEMU)]
    return sorted(lines[n] for n in special) + [x for n, x in enumerate(lines) if n not in special]


def _same(box, arguments, **keywords):
    alone = box.run(arguments, **keywords)
    recorded = box.record(arguments, status=None, **keywords)
    left, right = _lines(alone.stdout), _lines(recorded.stdout)
    check(len(left) > 5, f"the program printed {alone.stdout!r} {alone.stderr!r}")
    for line in sorted(set(left) ^ set(right)):
        print("only", "alone:" if line in left else "recorded:", line)
    check(right == left, f"what the program sees: {right}, expected {left}")
    equal(recorded.stderr, alone.stderr, "stderr")
    equal(recorded.returncode, alone.returncode, "exit status")


def environment(box):
    _same(box, [box.own("surroundings")], env=ENVIRONMENT)


def preload(box):
    _same(box, [box.own("surroundings")], env=ENVIRONMENT | {"LD_PRELOAD": "libdl.so.2"})


def variables_with_commas_that_act_on_qemu(box):
    """QEMU splits what it is given to set for the program at commas."""
    _same(box, [box.own("surroundings")], env=ENVIRONMENT | {"LD_LIBRARY_PATH": "/a,b:/c,LD_X=1"})


def empty_environment(box):
    _same(box, [box.own("surroundings")], env={})


def of_a_child(box):
    """The same through a shell, which executes the program itself."""
    program = box.own("surroundings")
    _same(box, ["/bin/sh", "-c", f"exec {program} a 'b c' ''"], env=ENVIRONMENT)
    _same(box, ["/bin/sh", "-c", f"{program} a 'b c' ''; exit 4"], env=ENVIRONMENT)


def arguments(box):
    odd = ["-h", "--", "", "a b", "-plugin", "x,y", "\n", "*", "-E", "A=B", "\udcff"]
    _same(box, [box.own("surroundings"), *odd])


def argument_zero(box):
    """A program that is executed under another name than its file's."""
    program = box.own("surroundings")
    _same(box, ["/bin/bash", "-c", f"exec -a other-name {program} x"])
    _same(box, ["/bin/bash", "-c", f"exec -a -dash {program} x"])


def relative_path(box):
    folder, name = os.path.split(box.own("surroundings"))
    _same(box, [f"./{name}"], cwd=folder)


def found_in_path(box):
    folder, name = os.path.split(box.own("surroundings"))
    _same(box, [name], env=os.environ | {"PATH": f"/nowhere:{folder}:/usr/bin:/bin"})


def path_with_odd_characters(box):
    name = box.path("a,b c=d'\"")
    os.symlink(box.own("surroundings"), name)
    _same(box, [name])


def standard_input(box):
    path = box.write("input", "one\ntwo\nthree")
    with open(path, "rb") as file:
        alone = box.run([box.own("surroundings")], stdin=file)
    with open(path, "rb") as file:
        recorded = box.record([box.own("surroundings")], status=3, stdin=file)
    check(b"stdin: three" in alone.stdout, "the program did not read its input")
    equal(recorded.stdout, alone.stdout, "output")


def pipe(box):
    """Not a byte more is read from standard input than the program reads itself."""
    recorded = " ".join(f"'{word}'" for word in box.command(["dd", "bs=1", "count=4"]))
    done = box.run(["sh", "-c", f"printf abcdefgh | (dd bs=1 count=2; {recorded}; cat)"])
    equal(done.stdout, b"abcdefgh", f"output ({done.stderr!r})")


def closed_descriptors(box):
    """Descriptors that were closed stay closed, and others are passed on."""
    arguments = [box.own("surroundings")]
    for prepare in ("exec 0<&-", "exec 2>&-", "exec 5</dev/null"):
        outputs = []
        for command in (arguments, box.command(arguments)):
            words = " ".join(f"'{word}'" for word in command)
            done = box.run(["sh", "-c", f"{prepare}; {words}"])
            outputs.append((sorted(done.stdout.splitlines()), done.returncode))
        equal(outputs[1], outputs[0], f"what the program sees after {prepare}")


def descriptors_of_threads_that_begin(box):
    """What the engine has open for a thread that another one makes, or to execute a program, is not kept by a child."""
    for program in [box.own("inherits")], [box.own("inherits"), "executes"]:
        equal(box.run(program).stdout, b"0\n", "children with more descriptors, natively")
        with_more = int(box.record(program).stdout)
        check(with_more <= 10, f"{with_more} of 100 children have more descriptors than the program: {program}")


def ignored_and_blocked_signals(box):
    def prepare():
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])

    _same(box, [box.own("surroundings")], preexec_fn=prepare)


def umask_and_limits(box):
    import resource

    def prepare():
        os.umask(0o027)
        os.nice(3)
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))

    _same(box, [box.own("surroundings")], preexec_fn=prepare)


def terminal(box):
    """isatty, and the size that a program asks the terminal for."""

    def run(command):
        primary, secondary = pty.openpty()
        process = subprocess.Popen(
            command, stdin=secondary, stdout=secondary, stderr=secondary, cwd=box.work
        )
        os.close(secondary)
        os.write(primary, b"typed\n\x04")
        out = b""
        while True:
            try:
                piece = os.read(primary, 4096)
            except OSError:
                break
            if not piece:
                break
            out += piece
        os.close(primary)
        return process.wait(), sorted(out.splitlines())

    alone = run([box.own("surroundings")])
    equal(run(box.command([box.own("surroundings")])), alone, "what the program sees")
    check(any(b"terminal 1" in line for line in alone[1]), "there was no terminal")


def in_a_pid_namespace(box):
    """A program there calls itself by another number; the recording has this machine's."""
    shell = "echo $$; ls / >/dev/null; (exit 3); echo $?"
    command = [box.tool("unshare"), "--pid", "--fork", "--mount-proc", "sh", "-c", shell]
    if box.run(command).returncode != 0:
        raise Skip("no PID namespace can be made here")
    done = box.record(command)
    equal(done.stdout, b"1\n3\n", "output")
    tasks = box.report(COMPLETE)["tasks"]
    check(len(tasks) >= 4, f"{tasks}")
    check(all(task["pid"] > 3 for task in tasks), f"numbers of the namespace: {tasks}")


def standard_streams_that_are_closed_or_full(box):
    """The program has them so, too; hodo says what it can, and nothing of it comes into the recording."""
    look = "import os, sys\nfound = [os.path.exists(f'/proc/self/fd/{n}') for n in range(3)]\n"
    look += "open(sys.argv[1], 'w').write(str(found))\nos._exit(4)"
    for redirected in (">&- 2>&-", "<&- 2>&-", "<&- >&- 2>&-", ">/dev/full 2>/dev/full"):
        told, program = box.path("told"), ["/usr/bin/python3", "-S", "-E", "-c", look, box.path("told")]
        found = []
        for command in (program, [word for word in box.command(program) if word != "-q"]):
            equal(box.run(["sh", "-c", f'"$@" {redirected}', "sh", *command]).returncode, 4, f"status with {redirected}")
            with open(told, encoding="ascii") as file:
                found.append(file.read())
        equal(found[1], found[0], f"which are open with {redirected}")
        box.read("report", COMPLETE)
