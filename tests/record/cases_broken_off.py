"""Recordings that something ends early: the file opens, and says what is missing."""

import os
import pty
import resource
import signal
import subprocess
import time

from box import COMPLETE, INCOMPLETE, Skip, alive, check, equal, kill, wait_for

# Arguments of `spin` for ten megabytes of trace, however slow the machine is.
MEGABYTES = ["0", "250"]


# What a program may send to its process group and live on; the last for real-time signals.
TO_THE_GROUP = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTRAP, signal.SIGABRT, signal.SIGUSR1,
                signal.SIGSEGV, signal.SIGUSR2, signal.SIGALRM, signal.SIGTERM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGRTMIN]


def _ready(process):
    """Waits until the program says that it runs."""
    equal(process.stdout.readline(), b"ready\n", "the program's first line")


def _program_of(process):
    """The pid of the program that a recording runs."""

    def child():
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="utf-8") as file:
            return [int(word) for word in file.read().split()]

    return wait_for(child, "the program")[0]


def _grown(box, size=1 << 20):
    """Waits until the recording has some substance."""
    wait_for(lambda: os.path.exists(box.data) and os.path.getsize(box.data) > size, "trace data")


def recorder_is_killed(box):
    process = box.start([box.own("spin"), "3"])
    _ready(process)
    program = _program_of(process)
    _grown(box)
    time.sleep(0.6)  # beyond the flush
    process.kill()
    process.wait()
    # The program has lost its observer and nothing else.
    check(alive(program), "the program ended with its recorder")
    equal(process.stdout.read(), b"done\n", "the rest of the program's output")
    losses = {loss["cause"] for loss in box.opens()["losses"]}
    check("unfinished" in losses, f"losses {losses}")
    check("the recorder died" in box.read("stats", INCOMPLETE), "the recorder's death is not told")
    check(box.stats(INCOMPLETE)["branches"]["taken"] > 10000, "hardly a branch is left")
    _tells_its_origin(box)


def _asked(box, *arguments):
    """The exit status of a reading command, its answer and its words."""
    done = box.run([box.hodo, *arguments, box.data])
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def asked_while_it_is_recorded(box):
    """What is there is neither damaged nor cut off; behind a recorder's death it is."""
    process = box.start([box.own("spin"), "60"])
    _ready(process)
    _grown(box)
    for command in (["stats"], ["show", "end"], ["crash"], ["list", "main"], ["branches", "--last", "2"]):
        status, out, words = _asked(box, *command)
        equal(status, COMPLETE, f"{command}: {words!r}: exit status")
        check("is still being recorded: this is of its first" in words, f"{command}: {words!r}")
        equal(words.count("\n"), 1, f"{command}: lines of {words!r}")
        if command == ["crash"]:
            check("has not ended yet" in out, out[:500])
    for _ in range(8):
        # Between two flushes the file ends anywhere. A program that waits for too long drops packets.
        process.send_signal(signal.SIGSTOP)
        report = box.report(status=None)
        process.send_signal(signal.SIGCONT)
        check(report["growing"]["bytes"] > 1 << 20, f"{report['growing']}")
        check(not report["finished"], "what the report says of its end")
        causes = {loss["cause"] for loss in report["losses"]}
        check(causes <= {"overflow"}, f"losses {report['losses']}")
        time.sleep(0.13)
    program = _program_of(process)
    process.kill()
    process.wait()
    status, _, words = _asked(box, "show", "end")
    equal(status, INCOMPLETE, "exit status behind the recorder's death")
    check("lost: unfinished" in words and "still being" not in words, words)
    kill(program)


def recorder_is_killed_before_the_first_flush(box):
    """However early, what is there opens or is no recording at all."""
    for delay in (0, 0.01, 0.02, 0.05, 0.1, 0.2):
        process = box.start([box.own("spin"), "1"])
        time.sleep(delay)
        process.kill()
        process.communicate(timeout=20)  # the program's end; hodo is a zombie until then
        if os.path.exists(box.data):
            done = box.run([box.hodo, "stats", box.data])
            check(done.returncode in (2, INCOMPLETE), f"hodo stats: {done.returncode}")
            equal(done.returncode == 2, done.stderr != b"", "words on stderr")


def program_is_killed(box):
    process = box.start([box.own("spin")])
    _ready(process)
    _grown(box)
    kill(_program_of(process))
    process.communicate(timeout=60)
    equal(process.returncode, 137, "exit status")
    stats = box.stats(status=None)
    check(stats["branches"]["taken"] > 10000, "hardly a branch is left")
    # What was in no packet when the program was killed ends in an overflow, which depends on the moment.
    losses = stats["losses"]
    check(all(loss["cause"] == "overflow" for loss in losses), f"losses {losses}")
    box.perf_reads(overflow=bool(losses))


def group_is_killed(box):
    process = box.start([box.own("spin")], start_new_session=True)
    _ready(process)
    program = _program_of(process)
    _grown(box)
    time.sleep(0.6)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    wait_for(lambda: not alive(program), "the program's end")
    losses = {loss["cause"] for loss in box.opens()["losses"]}
    check("unfinished" in losses, f"losses {losses}")


def terminated(box):
    """SIGTERM is for the program, as from a shell without hodo."""
    process = box.start([box.own("spin")])
    _ready(process)
    process.terminate()
    process.communicate(timeout=60)
    equal(process.returncode, 143, "exit status")
    box.stats(status=None)


def deaf_to_sigterm(box):
    """The second SIGTERM ends what does not hear the first; the recording is closed and says so."""
    process = box.start(["sh", "-c", "trap '' TERM; echo ready; while :; do :; done"])
    _ready(process)
    process.terminate()
    time.sleep(0.5)
    process.terminate()
    _, words = process.communicate(timeout=60)
    equal(process.returncode, 137, "exit status")
    check(b"did not end when a signal asked it to" in words, f"{words!r}")
    causes = {loss["cause"] for loss in box.stats(status=None)["losses"]}
    check("unfinished" not in causes, f"losses {causes}")


def in_the_background_of_a_script(box):
    """There the shell ignores SIGINT; the recording ends by it, as perf's."""
    command = " ".join(f"'{word}'" for word in box.command([box.own("spin")]))
    script = box.write("script", f"{command} >out & echo $!; wait $!; echo status $?\n")
    process = subprocess.Popen(
        ["sh", script], cwd=box.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    box.started.append(process)
    hodo = int(process.stdout.readline())
    wait_for(lambda: os.path.exists(box.path("out")) and os.path.getsize(box.path("out")), "spin")
    os.kill(hodo, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    equal(out, b"status 143\n", "the script's output")
    box.stats(status=None)


class _Terminal:
    """A terminal with a recording as its foreground job."""

    def __init__(self, box, arguments):
        command = box.command(arguments)  # may say that there is nothing to run
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(box.work)
            os.execv(box.hodo, command)
        self.text = b""

    def read_until(self, word):
        while word not in self.text:
            try:
                piece = os.read(self.fd, 4096)
            except OSError:
                piece = b""
            check(piece, f"the terminal says {self.text!r}, not {word!r}")
            self.text += piece

    def type(self, text):
        os.write(self.fd, text)

    def status(self):
        wait_for(lambda: self._ended(), "the recording's end")
        return os.waitstatus_to_exitcode(self.wait_status)

    def _ended(self):
        # The terminal's buffer must not hold anyone up.
        pid, self.wait_status = os.waitpid(self.pid, os.WNOHANG)
        return pid != 0


def control_c(box):
    """Ends the program as it would without hodo; the data stays."""
    terminal = _Terminal(box, [box.own("spin")])
    terminal.read_until(b"ready")
    _grown(box)
    terminal.type(b"\x03")
    equal(terminal.status(), 130, "exit status")
    check(box.stats(status=None)["branches"]["taken"] > 10000, "hardly a branch is left")
    box.perf_reads()


def control_c_that_the_program_ignores(box):
    """The first ends the recording, not the program, which goes on as if nothing had happened."""
    terminal = _Terminal(box, [box.own("ignores")])
    terminal.read_until(b"ready")
    terminal.type(b"\x03")
    time.sleep(0.5)
    terminal.type(b"one\ntwo\n\x04")
    terminal.read_until(b"2 lines")
    equal(terminal.status(), 0, "exit status")
    box.stats(status=None)


def second_control_c(box):
    terminal = _Terminal(box, [box.own("ignores")])
    terminal.read_until(b"ready")
    terminal.type(b"\x03")
    time.sleep(0.5)
    terminal.type(b"\x03")
    equal(terminal.status(), 143, "exit status")
    box.stats(status=None)


def signals_to_the_group(box):
    """What a program sends to its process group, in which the recorder is, is not for that."""
    for sender, options in ([], []), ([], ["--check"]), (["child"], []):
        # QEMU takes what faults raise for its own.
        faults = (signal.SIGSEGV, signal.SIGTRAP) if box.source == "qemu" else ()
        numbers = [str(int(number)) for number in TO_THE_GROUP if number not in faults]
        done = box.record([box.own("to_group"), *sender, *numbers], options, start_new_session=True)
        equal(done.stdout.decode(), "".join(f"{number} 1\n" for number in numbers), f"{sender}, {options}")
        words = done.stderr.decode()
        check(words == "" or options and "check: no finding" in words, words)
        box.stats()


def signal_that_asks_nothing(box):
    """Sent to the recorder alone it is for the program."""
    process = box.start(["sh", "-c", "trap 'exit 7' USR1; echo ready; while :; do :; done"])
    _ready(process)
    process.send_signal(signal.SIGUSR1)
    process.communicate(timeout=60)
    equal(process.returncode, 7, "exit status")
    box.stats()


def terminal_that_hangs_up(box):
    """It tells the leader of its session, which is hodo in the program's place."""
    terminal = _Terminal(box, [box.own("spin"), "30"])
    terminal.read_until(b"ready")
    os.close(terminal.fd)
    equal(terminal.status(), 129, "exit status")
    box.stats(status=None)


def _tells_its_origin(box, data=None):
    """What a reader wants to know first does not wait for the recording's end."""
    report = box.report(INCOMPLETE, data)
    check("spin" in report.get("command", ""), f"the command is {report.get('command')!r}")
    check("Linux" in report.get("host", ""), f"the host is {report.get('host')!r}")
    check(report.get("recorded_by", "").startswith("hodoscope"), "who recorded is not known")
    check(report.get("recorded_ns", 0) > 0, "when is not known")


def full_disk(box):
    """A file system of two megabytes."""
    folder = box.path("small")
    os.mkdir(folder)
    mounted = box.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder])
    if mounted.returncode != 0:
        raise Skip("this user may not mount a file system")
    try:
        data = os.path.join(folder, "trace.data")
        done = box.record([box.own("spin"), *MEGABYTES], data=data, status=None)
        text = done.stderr.decode()
        equal(text.count("\n"), 1, f"lines on stderr in {text!r}")
        check("No space left" in text, text)
        check(b"done" in done.stdout, "the program did not run to its end")
        equal(done.returncode, 125, "exit status")
        check(box.opens(data)["branches"]["taken"] > 1000, "hardly a branch is left")
        _tells_its_origin(box, data)
    finally:
        box.run(["umount", folder])


def file_that_is_removed(box):
    """Nothing is left of the recording, and nobody is told to look at it."""
    done = box.run([word for word in box.command(["rm", box.data]) if word != "-q"])
    equal(done.returncode, 125, f"exit status ({done.stderr!r})")
    check(b"was removed while it was written" in done.stderr, f"{done.stderr!r}")
    check(b"of trace in" not in done.stderr, f"{done.stderr!r}")


def file_size_limit(box):
    """The same by RLIMIT_FSIZE, whose signal must not kill anyone."""

    def prepare():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    for limit in (8 << 20, 1 << 20):  # the smaller one forbids even the trace buffers
        done = box.record([box.own("spin"), *MEGABYTES], status=None, preexec_fn=prepare)
        equal(done.returncode, 125, f"exit status ({done.stderr!r})")
        check(b"File too large" in done.stderr, f"{done.stderr!r}")
        check(b"done" in done.stdout, "the program did not run to its end")
        box.opens()


def max_size(box):
    size = 3 << 20
    done = box.record([box.own("spin"), *MEGABYTES], ["--max-size", "3M"])
    check(b"done" in done.stdout, "the program did not run to its end")
    check(b"--max-size" in done.stderr, f"{done.stderr!r}")
    # It ran on. What was not written for that is no overflow, though the ring was full.
    losses = box.report(INCOMPLETE)["losses"]
    equal([loss["cause"] for loss in losses], ["not-recorded"], "losses")
    check("--max-size: what ran later" in losses[0]["sites"][0]["reason"], f"{losses}")
    # A buffer per thread may still come on top.
    found = os.path.getsize(box.data)
    check(size <= found <= size + (8 << 20), f"the file has {found} bytes")
    check(box.stats(status=None)["branches"]["taken"] > 10000, "hardly a branch is left")
    box.perf_reads()


def max_size_before_an_exec(box):
    """What ran later is told of once, and not as something else."""
    done = box.record(["sh", "-c", f"{box.own('spin')} {' '.join(MEGABYTES)}; exec true"], ["--max-size", "1M"])
    equal(done.stderr.count(b"\n"), 1, f"lines in {done.stderr!r}")
    reasons = [site["reason"] for site in box.report(INCOMPLETE)["losses"][0]["sites"]]
    equal(len(reasons), 1, f"{reasons}")
    check("--max-size" in reasons[0], f"{reasons}")


def stopped_recorder(box):
    """While hodo does not run, the program waits; then it goes on and nothing is lost."""
    process = box.start([box.own("spin"), "2"])
    _ready(process)
    process.send_signal(signal.SIGSTOP)
    time.sleep(1)
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=60)
    equal(process.returncode, 0, "exit status")
    box.stats()
