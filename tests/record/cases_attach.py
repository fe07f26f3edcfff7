"""hodo record -p: attaching to what runs already, and letting go of it again."""

import os
import re
import resource
import signal
import subprocess
import sys
import time

from box import COMPLETE, Skip, check, equal, wait_for

ENGINE = re.compile(r"^7ef[0-9a-f]{5}-|memfd:hodo|/hodo-engine", re.M)


def _started(box, arguments, **keywords):
    process = subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=box.work, **keywords
    )
    box.started.append(process)
    equal(process.stdout.readline(), "ready\n", "it does not run")
    return process


def _attach(box, pids, options=(), **keywords):
    """The recorder, in the background."""
    command = [box.hodo, "record", "--source", "dbi", "-q", "-o", box.data, "-p", pids, *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=box.work, **keywords)
    box.started.append(process)
    return process


def _attached(box, process):
    """The same, once the engine is in the process."""
    recorder = _attach(box, str(process.pid))
    wait_for(lambda: ENGINE.search(_maps(process.pid)), "the engine")
    return recorder


def _maps(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        return file.read()


def _end(recorder, status=0):
    error = recorder.communicate(timeout=60)[1]
    equal(recorder.returncode, status, f"exit status ({error})")
    return error


def _goes_on(process):
    """Every thread that computes or handles signals gets on."""
    process.stdin.write("go on\n")
    process.stdin.flush()
    equal(process.stdout.readline(), "goes on\n", "it stands still")


def _ends_as_ever(process):
    out = process.communicate(timeout=60)[0]
    equal(out, "all as ever\n", "what it says at the end")
    equal(process.returncode, 3, "exit status")


def _another_thread(process):
    """The first that it has started, which computes until the end; others come and go."""
    return min(int(tid) for tid in os.listdir(f"/proc/{process.pid}/task") if int(tid) != process.pid)


def _descriptors(pid):
    """Those of its own that may not be there yet are left out: a thread of `attached` makes an epoll."""
    folder = f"/proc/{pid}/fd"
    return {name for name in os.listdir(folder) if "eventpoll" not in os.readlink(f"{folder}/{name}")}


def _refused(box, pids, *words, status=None, user=None, options=()):
    done = box.run(
        [*(["setpriv", "--reuid", user, "--clear-groups"] if user else []), box.hodo, "record",
         "--source", "dbi", "-o", box.path("refused"), "-p", pids, *options]
    )
    text = done.stderr.decode()
    check(done.returncode != 0, f"recorded: {text}")
    if status is not None:
        equal(done.returncode, status, text)
    for word in words:
        check(word in text, f"no {word!r} in {text!r}")


def threads_of_every_kind(box):
    """Attached to and let go twice: they go on as if nothing had been."""
    process = _started(box, [box.own("attached")])
    before = _descriptors(process.pid)
    for _ in range(2):
        recorder = _attach(box, str(process.pid), ["--duration", "150ms"])
        _end(recorder)
        maps = _maps(process.pid)
        check(not ENGINE.search(maps), f"left behind:\n{maps}")
        equal(_descriptors(process.pid) - before, set(), "descriptors")
        _goes_on(process)
        branches = box.agrees_with_perf(status=None)
        check(len(branches) >= 11, f"threads: {len(branches)}")
        box.read("check", COMPLETE)
    _ends_as_ever(process)


def first_thread_has_ended(box):
    """Its memory is to be had by another one alone."""
    process = _started(box, [box.own("first_ends")])
    recorder = _attach(box, str(process.pid))
    tasks = f"/proc/{process.pid}/task"
    wait_for(lambda: any(ENGINE.search(_maps(tid)) for tid in os.listdir(tasks)), "the engine")
    _goes_on(process)
    recorder.send_signal(signal.SIGINT)
    _end(recorder)
    check(box.stats(status=None)["branches"]["taken"] > 99_999, "code of its own is not in the trace")
    check(not any(ENGINE.search(_maps(tid)) for tid in os.listdir(tasks)), "left behind")
    _goes_on(process)
    _ends_as_ever(process)


def threads_of_the_kernel(box):
    """Those by which it reads for the process (io_uring) are not held, which would end what they wait in."""
    _twice_while_it_waits(box, "ring", "5 hello\n")


def a_page_that_another_thread_brings(box):
    """The thread that waits for it is let go, though the other one, which is so already, cannot bring it."""
    _twice_while_it_waits(box, "waits_for_page", "77\n")


def _twice_while_it_waits(box, program, says):
    """`program` says so, and `says` when it is told to go on; or at once that the kernel has nothing for it to wait for."""
    process = subprocess.Popen([box.own(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    box.started.append(process)
    if process.stdout.readline() != "ready\n":
        raise Skip("the kernel does not have it")
    for _ in range(2):
        _end(_attach(box, str(process.pid), ["--duration", "0.1"]))
    equal(process.communicate("go on\n", timeout=60)[0], says, "what it says")


def few_descriptors(box):
    """Where none is free the engine makes room in a table of its own; where none may be had it says what is missing."""
    process = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    box.started.append(process)
    wait_for(lambda: open(f"/proc/{process.pid}/syscall", encoding="ascii").read().startswith("0 0x0 "), "it reads")
    highest = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (3, highest))
    _end(_attach(box, str(process.pid), ["--duration", "0.1"]))
    box.report(COMPLETE)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (0, highest))
    _refused(box, str(process.pid), "cannot be recorded: /proc/self/maps cannot be read", status=126)
    equal(process.communicate("all as ever\n", timeout=60)[0], "all as ever\n", "what it says")


def ends_that_let_it_go_on(box):
    """A signal to the recorder, and --max-size."""
    process = _started(box, [box.own("attached")])
    recorder = _attached(box, process)
    _goes_on(process)
    recorder.send_signal(signal.SIGINT)
    _end(recorder)
    _goes_on(process)
    recorder = _attach(box, str(process.pid), ["--max-size", "100K"])
    check("--max-size" in _end(recorder), "no word of the limit")
    check(not ENGINE.search(_maps(process.pid)), "left behind")
    _goes_on(process)
    _ends_as_ever(process)


def ends_with_the_process(box):
    process = _started(box, [box.own("attached")])
    recorder = _attached(box, process)
    _ends_as_ever(process)
    _end(recorder)
    box.stats(COMPLETE)


def programs_that_it_starts(box):
    """A shell: they are recorded, and let go of as well."""
    script = "echo ready; while read line; do /bin/true; ls / > /dev/null & wait; echo >> rounds; done; echo all as ever"
    process = _started(box, ["/bin/sh", "-c", script + "; exit 3"])
    recorder = _attached(box, process)
    process.stdin.write("a\nb\n")
    process.stdin.flush()
    rounds = os.path.join(box.work, "rounds")
    wait_for(lambda: os.path.exists(rounds) and os.path.getsize(rounds) == 2, "both rounds")
    recorder.send_signal(signal.SIGINT)
    process.stdin.write("c\n" * 20)
    process.stdin.flush()
    _end(recorder)
    check({"sh", "true", "ls"} <= set(box.names(status=None)), f"names {box.names(status=None)}")
    box.read("check", COMPLETE)
    _ends_as_ever(process)


def several_processes_and_some_threads(box):
    first, second = (_started(box, [box.own("attached")]) for _ in range(2))
    pids = [first.pid, second.pid]
    _end(_attach(box, ",".join(map(str, pids)), ["--duration", "100ms"]))
    tasks = box.report(status=None)["tasks"]
    check(set(pids) <= {task["pid"] for task in tasks}, f"processes {tasks}")
    thread = _another_thread(first)
    _end(_attach(box, str(first.pid), ["--duration", "100ms", "--threads", str(thread)]))
    equal(set(box.branches(status=None)), {thread}, "threads")
    for process in (first, second):
        _ends_as_ever(process)


def system_calls_that_are_signals(box):
    """Syscall User Dispatch: of a process that has it before, and of a thread that asks for it meanwhile."""
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < (6, 4):
        raise Skip("before Linux 6.4 nobody can tell who has it")
    process = _started(box, [box.own("dispatches")])
    recorder = _attached(box, process)
    _goes_on(process)
    recorder.send_signal(signal.SIGINT)
    _end(recorder)
    _goes_on(process)
    _end(_attach(box, str(process.pid), ["--duration", "100ms"]))
    _goes_on(process)
    box.read("check", COMPLETE)
    _ends_as_ever(process)


def a_process_that_stands_still(box):
    """SIGSTOP: it is attached to, let go of, and stands still all the while. What has to wait for another
    of its threads then is stopped in that, and goes on sleeping as before."""
    process = _started(box, [box.own("attached")])

    def stands():
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] == "T"

    for _ in range(5):
        process.send_signal(signal.SIGSTOP)
        wait_for(stands, "it stands still")
        _end(_attach(box, str(process.pid), ["--duration", "100ms"]))
        wait_for(stands, "it stands still")
        process.send_signal(signal.SIGCONT)
        _goes_on(process)
    _ends_as_ever(process)


def a_process_that_is_frozen(box):
    """By its control group, as containers are: it is refused, and goes on when it is thawed."""
    with open("/proc/mounts", encoding="utf-8") as mounts:
        places = [line.split()[1] for line in mounts if line.split()[2] == "cgroup2"]
    group = os.path.join(places[0] if places else "/nowhere", f"hodo-test-{os.getpid()}")
    try:
        os.mkdir(group)
    except OSError as error:
        raise Skip(f"no control group can be made: {error}") from error
    process = _started(box, [box.own("attached")])

    def freeze(how):
        with open(os.path.join(group, "cgroup.freeze"), "w", encoding="utf-8") as file:
            file.write(how)

    try:
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="utf-8") as file:
            file.write(str(process.pid))
        freeze("1")
        wait_for(lambda: "frozen 1" in open(os.path.join(group, "cgroup.events"), encoding="utf-8").read(), "frozen")
        _refused(box, str(process.pid), "frozen", "remedy")
        freeze("0")
        _goes_on(process)
        _ends_as_ever(process)
    finally:
        process.kill()
        process.wait()
        os.rmdir(group)


def memory_of_two_processes(box):
    """Where a child stays in it, it is refused, and both go on; where one is there for a moment, as in vfork, not."""
    process = _started(box, [box.own("shares_memory")])
    _refused(box, str(process.pid), "shares its memory", "remedy", status=126)
    equal(process.communicate("end\n", timeout=60)[0], "all as ever\n", "it")
    process = _started(box, [box.own("shares_memory"), "moment"])
    recorder = _attached(box, process)
    equal(process.communicate("end\n", timeout=60)[0], "all as ever\n", "it, attached to")
    _end(recorder)
    box.stats(COMPLETE)


def _again_and_again(box, kind, times):
    process = _started(box, [box.own("odd_moments"), kind])
    for _ in range(times):
        said = _end(_attach(box, str(process.pid), ["--duration", "10ms"]))
        check("another process traces it" not in said and "could not be let go" not in said, said)
        _goes_on(process)
    _ends_as_ever(process)


def faults_that_are_not_told_yet(box):
    """Threads that raise signals all the time: the kernel stops them in front of telling them."""
    _again_and_again(box, "faults", 15)


def children_in_its_memory(box):
    """In vfork the parent is hardly ever where it can be let go, and what is let go of the child is the parent's."""
    _again_and_again(box, "spawns", 15)


def programs_that_begin(box):
    """A process that executes one program after the other is let go of between two, or not held at all."""
    _again_and_again(box, "executes", 15)


def refusals(box):
    """Each names the rule, and what to do."""
    process = _started(box, [box.own("attached")])
    pid = str(process.pid)
    _refused(box, "999999999", "no process", status=127)
    _refused(box, "12x", "-p 12x", status=2)
    _refused(box, str(_another_thread(process)), f"-p {pid} --threads", status=2)
    if os.path.exists("/proc/2/comm"):
        with open("/proc/2/comm", encoding="utf-8") as kernel:
            if kernel.read() == "kthreadd\n":  # not in a namespace of processes
                _refused(box, "2", "of the kernel", status=126)
    done = box.run([box.hodo, "record", "-p", pid, "--", "true"])
    check(done.returncode == 2 and b"do not go together" in done.stderr, f"{done.stderr}")
    own = box.run(["/bin/sh", "-c", f'exec "{box.hodo}" record --source dbi -p $$'])
    check(own.returncode == 2 and b"itself" in own.stderr, f"{own.stderr}")
    ended = subprocess.Popen(["/bin/true"])
    time.sleep(0.5)
    _refused(box, str(ended.pid), "zombie", status=127)
    ended.wait()
    if os.getuid() == 0:
        _refused(box, pid, "it is root's", "remedy", status=126, user="65534")
    seize = f"import ctypes, time; ctypes.CDLL(None).ptrace(0x4206, {pid}, None, None); time.sleep(60)"
    debugger = subprocess.Popen([sys.executable, "-c", seize])
    box.started.append(debugger)
    wait_for(lambda: f"TracerPid:\t{debugger.pid}" in open(f"/proc/{pid}/status").read(), "the debugger")
    _refused(box, pid, "traced already", "python", status=126)
    debugger.terminate()
    debugger.wait()
    _ends_as_ever(process)
