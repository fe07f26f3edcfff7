"""What only the engine (--source dbi) does, or does in its own way."""

import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import emulated

from box import COMPLETE, INCOMPLETE, Skip, check, equal, wait_for

NOBODY = 65534


def is_the_default_without_trace_hardware(box):
    box.record([box.program("hello")], ["--source", "auto"])
    check(b'"source":"dbi"' in open(box.data, "rb").read(), "not recorded by the engine")


def threads_that_run_when_the_process_ends(box):
    """Their packets are handed over: nothing is lost."""
    for how in ("exit", "return", "abort", "child"):
        box.record([box.own("spinners"), how], status={"abort": 134}.get(how, 7))
        report = box.report(COMPLETE)
        equal(sum(task["thread"] for task in report["tasks"]), 4, "threads")


def first_thread_has_ended(box):
    """What is mapped afterwards and runs is in the trace."""
    box.record([box.own("first_ends")], status=3)
    check(box.stats()["branches"]["taken"] > 99_999, "code of the other thread is not in the trace")


def system_calls_by_interrupt(box):
    """What follows INT 0x80 is in the trace, and signals come and end calls as always."""
    program = box.own("interrupts")
    alone = box.run([program])
    check(alone.returncode == 0 and len(alone.stdout) > 20, f"alone: {alone.stdout!r}")
    for source in ("dbi", "bts"):
        recorded = box.record([program], ["--source", source])
        equal(recorded.stdout.split(b"\n"), alone.stdout.split(b"\n"), source)
        calls = re.findall(r" call .*call_behind.* => .*leaf", box.read("branches", COMPLETE))
        equal(len(calls), 1, f"calls behind the instruction, by {source}")
        box.read("check", COMPLETE)


def code_on_the_rest_of_the_stack(box):
    """mprotect() of one page with PROT_GROWSDOWN takes those below along, and what runs there is in the trace."""
    done = box.record([box.own("grown_down")])
    equal(done.stdout, b"16\n", "its output")
    calls = re.findall(r" icall .*run.* => .*\[stack.*\n.* ijmp .*\[stack.* => .*leaf", box.read("branches", COMPLETE))
    equal(len(calls), 8, "calls on the stack")
    box.agrees_with_perf()


def shadow_stacks(box):
    """A program that asks for shadow stacks is told that there are none, whatever the processor has: code in the cache returns elsewhere."""
    done = box.record([box.own("shadow_stack")])
    equal(done.stdout, b"Operation not supported\n", "its output")


def descriptors_that_processes_share(box):
    """What the engine has open where a program is executed is not kept by who has the same descriptors."""
    program = [box.own("gives_files")]
    for command in (program, box.command(program)):
        equal(box.run(command).stdout, b"3 executed, 0 more\n", f"{command}")


def killed_while_it_runs(box):
    """What was not handed over is missing at the end, and that is said."""
    process = box.start([box.own("spinners"), "wait"])
    check(process.stdout.readline() == b"ready\n", "it does not run")
    pid = int(process.stdout.readline())
    time.sleep(0.2)
    box.run(["kill", "-KILL", str(pid)])
    process.wait(60)
    losses = box.report(INCOMPLETE)["losses"]
    check(losses, "no word of the loss")
    check(all(loss["cause"] == "overflow" for loss in losses), f"{losses}")


def killed_at_any_moment(box):
    """What it did up to its last packet is there, whether it was handed over or not, and no call that it did not make."""
    told = box.path("told")
    for n in range(12):
        with open(told, "wb") as file:
            file.write(bytes(8))
        process = box.start([box.own("tells_calls"), told])
        wait_for(lambda: any(open(told, "rb").read()), "its first call")
        time.sleep(0.0007 * n)
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as children:
            os.kill(int(children.read()), signal.SIGKILL)
        process.wait(60)
        with open(told, "rb") as file:
            (times,) = struct.unpack("<Q", file.read())
        tree = json.loads(box.read("calls", INCOMPLETE, options=["--format", "json"]))
        counted = [n for n, one in enumerate(tree["functions"]) if one["name"].startswith("called_")]
        calls = sum(path["calls"] for path in tree["threads"][0]["paths"] if path["function"] in counted)
        check(calls - times in (0, 1), f"{times} calls were made, {calls} are recorded")


def programs_that_are_gone_when_it_ends(box):
    """Deleted at once; replaced by another of the same name; and a library."""
    hello, ends, gone = box.program("hello"), box.own("ends"), box.path("gone")
    box.record(["sh", "-c", f"cp {hello} {gone}; {gone}; rm {gone}"])
    check("gone" in box.read("calls", COMPLETE), "calls of the program")
    box.agrees_with_perf()
    box.record(["sh", "-c", f"cp {hello} {gone}; {gone}; cp {ends} {gone}.new; mv {gone}.new {gone}; {gone} exit 0"])
    box.agrees_with_perf()
    for loses_its_name in ("os.remove('libgone.so')", "os.rename('libgone.so', 'x')", "os.replace('new', 'libgone.so')"):
        shutil.copy("/lib/x86_64-linux-gnu/libm.so.6", box.path("libgone.so"))
        shutil.copy(hello, box.path("new"))
        script = f"import ctypes, os; m = ctypes.CDLL('./libgone.so'); m.ilogb(); {loses_its_name}; os._exit(0)"
        box.record(["/usr/bin/python3", "-S", "-E", "-c", script])
        check("ilogb+" in box.read("branches", COMPLETE), f"branches of the library: {loses_its_name}")
        box.agrees_with_perf()


def file_systems_that_are_unmounted(box):
    """What ran of them is not held open, and kept."""
    hello, mount = box.program("hello"), box.path("mount")
    os.mkdir(mount)
    shell = f"mount -t tmpfs none {mount}; cp {hello} {mount}/gone; {mount}/gone; umount {mount}"
    command = [box.tool("unshare"), "--mount", "sh", "-e", "-c", shell]
    if box.run(command).returncode != 0:
        raise Skip("nothing can be mounted here")
    box.record(command)
    check("gone" in box.read("calls", COMPLETE), "calls of the program")
    box.agrees_with_perf()


def refuses_what_it_does_not_do(box):
    done = box.record([box.program("hello")], ["--source", "dbi", "--debug-log", "."], status=2)
    check(b"remedy: " in done.stderr, f"no remedy: {done.stderr!r}")
    done = box.record([box.program("hello_32")], ["--source", "dbi"], status=126)
    other = b"--source step" if emulated.missing(box.hodo) else b"--source qemu"
    check(other in done.stderr, f"no remedy: {done.stderr!r}")


def without_ptrace_qemu_records(box):
    """As in containers that forbid it."""
    if why := emulated.missing(box.hodo):
        raise Skip(why)
    forbidden = [box.own("no_ptrace")]
    done = box.run([*forbidden, *box.command([box.program("hello")], ["--source", "auto"])])
    equal((done.returncode, done.stdout), (0, b"hello\n"), f"recorded ({done.stderr!r})")
    check(b"ptrace is not permitted here" in done.stderr, f"why QEMU: {done.stderr!r}")
    check("complete, nothing lost" in box.read("report", COMPLETE), "the recording is whole")


def without_ptrace_the_engine_says_what_to_do(box):
    forbidden = [box.own("no_ptrace")]
    done = box.run([*forbidden, *box.command([box.program("hello")], ["--source", "dbi"])])
    equal((done.returncode, done.stdout), (126, b""), "the engine alone")
    check(b"remedy: " in done.stderr, f"no remedy: {done.stderr!r}")
    done = box.run([*forbidden, box.hodo, "doctor"])
    check(b"ptrace is not permitted here" in done.stdout, "the doctor")


def where_another_traces_all_it_is_named(box):
    command = box.command([box.program("hello")], ["--source", "dbi"])
    done = box.run([box.own("traces_all"), *command])
    equal((done.returncode, done.stdout), (126, b""), f"the engine alone ({done.stderr!r})")
    check(b"(traces_all) traces what hodo starts" in done.stderr, f"who: {done.stderr!r}")


def a_debugger_is_recorded_and_what_it_debugs_runs(box):
    """Two cannot hold one process: the debugger has it."""
    box.record([box.tool("gdb"), "-q", "-batch", "-ex", "run", "--args", box.program("hello")])
    report = box.report(INCOMPLETE)
    causes = {loss["cause"] for loss in report["losses"]}
    # It also kills a child that it has only made to try what the kernel can do.
    check("not-recorded" in causes and causes <= {"not-recorded", "overflow"}, f"{causes}")


def what_a_debugger_sees_of_recorded_processes(box):
    """The engine is taken out of whom another process traces."""
    alone = box.run([box.own("debugs")])
    check(alone.stdout.count(b"ended: 700\n") == 3, f"natively: {alone.stdout!r}")
    equal(box.record([box.own("debugs")]).stdout, alone.stdout, "what it sees")
    losses = [loss for loss in box.report(INCOMPLETE)["losses"] if loss["cause"] == "not-recorded"]
    check(len(losses) > 0 and "traced it" in str(losses), f"{losses}")


def execs_that_fail(box):
    """As a shell looks for a command in one folder after another."""
    script = "import os\nfor p in ('/nowhere/x', '/etc/passwd', '/'):\n"
    script += "  try: os.execv(p, [p])\n  except OSError: pass\nos.execv('/bin/echo', ['echo', 'found'])"
    done = box.record(["/usr/bin/python3", "-c", script])
    equal(done.stdout, b"found\n", "output")
    stats = box.stats(COMPLETE)
    check("echo" in box.read("report", COMPLETE), "the program that it executes in the end")
    check(stats["instructions"] > 0, "no instructions")


def without_the_time_stamp_counter(box):
    """The program forbids itself to read it (PR_SET_TSC)."""
    alone = box.run([box.own("no_counter")])
    done = box.record([box.own("no_counter")])
    equal(done.stdout, alone.stdout, "output")
    box.stats(COMPLETE)


def single_steps_of_its_own(box):
    """It sets EFLAGS.TF, and is told of each of its instructions."""
    alone = box.run([box.own("single_step")]).stdout
    for options in (["--source", "dbi"], ["--source", "bts"], ["--source", "dbi", "--cache-size", "1M"]):
        done = box.record([box.own("single_step")], options)
        equal(done.stdout, alone, f"{options}: output")
        box.stats(COMPLETE)
    box.record([box.own("single_step")])
    box.agrees_with_perf()


def with_probes_of_the_kernel(box):
    """What a probe stands for runs, and the probe counts it."""
    alone = box.run([box.own("probed")])
    if alone.returncode == 77:
        raise Skip(alone.stdout.decode().strip())
    equal(alone.returncode, 0, f"alone: {alone.stdout!r}")
    for source in ("dbi", "bts"):
        recorded = box.record([box.own("probed")], ["--source", source])
        equal(recorded.stdout.split(b"\n"), alone.stdout.split(b"\n"), source)
        box.stats(COMPLETE)
        box.read("check", COMPLETE)
        before = box.record([box.own("probed"), "before"], ["--source", source])
        equal(before.stdout.split(b"\n"), alone.stdout.split(b"\n"), f"{source}: probes that are there before")
        box.stats(COMPLETE)
        box.read("check", COMPLETE)
        for how, rule in (("inner", "return.target"), ("slot", "return.target"), ("pointer", "code.unknown")):
            box.record([box.own("probed"), how], ["--source", source])
            found = json.loads(box.run([box.hodo, "check", "--json", box.data]).stdout)["findings"]
            equal([finding["rule"] for finding in found], [rule], how)


def strict_mode_of_seccomp(box):
    """Four system calls are left to the program, and the engine makes others."""
    for how, status in (("exit", 7), ("handler", 7), ("getpid", 128 + 9)):
        for call in ("prctl", "seccomp"):
            command = [box.own("strict"), how, call]
            alone = subprocess.run(command, capture_output=True, timeout=60, check=False)
            equal(alone.returncode % 256, (status if status < 128 else 128 - status) % 256, f"{how}: status alone")
            done = box.record(command, status=status)
            equal(done.stdout, alone.stdout, f"{how}: output")
            box.stats(COMPLETE)
            # It ends in the system call that it has forbidden itself.
            ended = box.report(COMPLETE)["ended"][0]
            equal("ip" in ended, how == "getpid", f"{how}: {ended}")


def _become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def programs_that_may_not_be_traced(box):
    """They run with all their rights, and the recording says why without it, and what to do."""
    if os.geteuid() != 0:
        raise Skip("only root can make programs of other users")
    os.chmod(box.work, 0o777)
    hello = box.program("hello")

    def copy(name, mode, **keywords):
        shutil.copy(hello, box.path(name))
        os.chown(box.path(name), keywords.get("user", 0), keywords.get("group", 0))
        os.chmod(box.path(name), mode)
        return box.path(name)

    capable = copy("capable", 0o755)
    # struct vfs_cap_data of CAP_NET_RAW, effective.
    os.setxattr(capable, "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 13, 0, 0, 0))
    def script(name, interpreter, mode):
        with open(box.path(name), "w") as file:
            print(f"#! {interpreter}", file=file)
        os.chmod(box.path(name), mode)
        return box.path(name)

    suid = copy("suid", 0o4755)
    both = " and what executes it"  # which may have given its rights up
    cases = [
        ([suid], f"it is set-user-ID; remedy: run hodo{both} as its owner"),
        ([copy("sgid", 0o2755)], f"it is set-group-ID; remedy: run hodo{both} with its group"),
        ([capable], f"its file has capabilities; remedy: run hodo{both} as root"),
        ([copy("secret", 0o711)], "remedy: run hodo as root"),
        ([script("of_script", script("of_suid", suid, 0o755), 0o755)], f"it is set-user-ID; remedy: run hodo{both} as its owner"),
    ]
    by_descriptor = "import os, sys; os.execve(os.open(sys.argv[1], os.O_RDONLY), ['hello'], {})"
    others = [
        ([box.own("private"), hello], "(PR_SET_DUMPABLE); remedy: run hodo as root"),
        (["/usr/bin/python3", "-S", "-E", "-c", by_descriptor, capable], f"its file has capabilities; remedy: run hodo{both} as root"),
    ]
    for command, why in [*cases, *others]:
        data = box.path("of_nobody")
        done = box.record(["/usr/bin/env", *command], data=data, preexec_fn=_become_nobody)
        equal(done.stdout, b"hello\n", f"{command}: output")
        loss = box.report(INCOMPLETE, data)["losses"][0]
        equal(loss["cause"], "not-recorded", f"{command}: loss")
        check(why in loss["sites"][0]["reason"] and why in done.stderr.decode(), f"{command}: {loss}, {done.stderr!r}")
        os.remove(data)
    # By themselves there would be nothing to record.
    for command, why in cases:
        why = why.replace(both, "")
        done = box.record(command, status=126, data=box.path("of_nobody"), preexec_fn=_become_nobody)
        check(why.encode() in done.stderr or b"not readable; remedy" in done.stderr, f"{command}: {done.stderr!r}")
    # A script's own bits mean nothing.
    command = ["/usr/bin/env", script("suid_script", hello, 0o6755)]
    box.record(command, data=box.path("of_nobody"), preexec_fn=_become_nobody)
    box.stats(COMPLETE, box.path("of_nobody"))
    # Root may trace all of them.
    box.record(["/usr/bin/env", capable])
    box.stats(COMPLETE)


def processes_in_one_memory(box):
    """Processes that share their parent's memory, but not its descriptors, are recorded, too; QEMU has none."""
    box.record([box.own("tasks"), "shared", "20"])
    equal(len(box.stats()["queues"]), 21, "processes")
    box.agrees_with_perf()


def calls_in_a_row_in_made_code(box):
    """Before each return a time is written, since code comes that has not run yet, and of nothing else packets."""
    done = box.record([box.own("calls_in_a_row")])
    function = done.stdout.decode().strip()
    rows = [row.split(",") for row in box.read("branches", COMPLETE, options=["--format", "csv"]).splitlines()]
    first = int(function, 16) - 5 * 4000 - 1
    equal([int(row[5], 16) for row in rows if row[6:8] == [function, "call"]], [first + 5 * n for n in range(4000)], "calls")
    equal([int(row[6], 16) for row in rows if row[5] == function and row[7] == "ret"], [first + 5 * n + 5 for n in range(4000)], "returns")


def memory_that_switches_its_rights(box):
    """Each version of the code is kept, and not all of the memory for each."""
    code = int(box.record([box.own("switches_rights")]).stdout, 16)
    rows = [row.split(",") for row in box.read("branches", COMPLETE, options=["--format", "csv"]).splitlines()]
    places = [int(row[5], 16) - code for row in rows if row[7] == "ret"]
    equal([place for place in places if 0 <= place < 1 << 20], [n + 5 for n in range(50)], "returns")
    size = os.path.getsize(box.data)
    check(size < 4 << 20, f"{size} bytes")


def code_that_is_there_only_later(box):
    """Where nothing was, code does not remain what is stepped over natively."""
    equal(box.record([box.own("comes_later")]).stdout, b"1000\n", "output")
    kinds = box.stats()["branches"]["kinds"]
    check(kinds["begin"] < 500, f"{kinds['begin']} interruptions of a thousand calls")


def a_child_is_not_seen_to_sleep_before_it_does(box):
    """While it waits for its channel it runs, as whoever looks at /proc/PID/stat has it."""
    done = box.record([box.own("asleep")])
    equal(done.stdout, b"awake\n", "output")


def descriptors_have_the_lowest_numbers(box):
    """Also the one that the kernel opens while a process is made (CLONE_PIDFD)."""
    script = (
        "import ctypes, os, struct\npidfd = ctypes.c_int(-1)\n"
        "args = struct.pack('11Q', 0x1000, ctypes.addressof(pidfd), 0, 0, 17, *[0] * 6)\n"
        "child = ctypes.CDLL(None).syscall(435, args, len(args))\n"  # clone3
        "if child == 0: os._exit(0)\n"
        "os.waitpid(child, 0)\nprint(pidfd.value, os.dup(0))"
    )
    alone = box.run(["/usr/bin/python3", "-c", script])
    equal(box.record(["/usr/bin/python3", "-c", script]).stdout, alone.stdout, "descriptors")


def killed_as_they_begin(box):
    """While the recorder holds them at their exec: their parents wait for them as ever."""
    done = box.record([box.own("killed_at_exec")])
    equal(done.stdout, b"100 of 100 killed\n", "output")
    check(b"without being recorded" not in done.stderr, f"{done.stderr!r}")


def first_process_of_a_namespace(box):
    """Signals that it has no handler for end neither it nor its recording."""
    alone = box.run([box.own("first_process")])
    if b": ffffffff" in alone.stdout:
        raise Skip("no namespace of processes can be made here")
    recorded = box.record([box.own("first_process")])
    equal(recorded.stdout.split(b"\n"), alone.stdout.split(b"\n"), "output")
    box.stats(COMPLETE)


def _where_the_recorder_has_no_name(box, *where):
    program = box.own("apart")
    if box.run([program, "starts", *where]).returncode == 77:
        raise Skip("this kernel has it not, or does not allow it here")
    for how in ("starts", "closes", "closes-all", "covers"):
        done = box.record([program, how, *where])
        equal(done.stdout, b"-1\n", f"{how}: what came to the program's own socket")
        tasks = box.report(COMPLETE)["tasks"]
        equal(sum(not task["thread"] for task in tasks), 3, f"{how}: processes")
        equal(sum(task["thread"] for task in tasks), 2, f"{how}: threads of the first one")


def in_a_network_namespace_of_its_own(box):
    """What starts there is recorded like what starts here: the recorder is reached by a connection that is kept."""
    _where_the_recorder_has_no_name(box)


def kept_to_its_own_abstract_sockets(box):
    """By Landlock, as xz is from its version 5.8 on: the same."""
    _where_the_recorder_has_no_name(box, "scoped")


def system_calls_that_the_program_forbids_itself(box):
    """They are the engine's all the same, which needs more than the program, sockets among them."""
    alone = box.run([box.program("seccomp")])
    check(b"\nabcd refused\nended 768\nkilled as it ended 31\n" in alone.stdout, f"{alone}")
    done = box.record([box.program("seccomp")])
    equal(done.stdout, alone.stdout, "what it did")
    ended = box.report(COMPLETE)["ended"]
    equal(len(ended), 8, "processes")
    equal(sum(end.get("signal") == signal.SIGSYS for end in ended), 2, f"{ended}")


def a_thread_without_memory_for_its_channel(box):
    """It has one in what the engine reserved in the beginning. If the kernel refuses that, too, it runs as ever, and is told of."""
    done = box.record([box.own("cramped")])
    equal(done.stdout, b"done\n", "output")
    box.report(COMPLETE)
    done = box.record([box.own("cramped"), "more"])
    equal(done.stdout, b"done\n", "output")
    losses = box.report(INCOMPLETE)["losses"]
    equal([loss["cause"] for loss in losses], ["not-recorded"], f"{losses}")
    check("no memory for its channel" in losses[0]["sites"][0]["reason"], f"{losses}")
    check(b"no memory for its channel" in done.stderr, f"{done.stderr!r}")


def without_a_free_descriptor(box):
    """What begins then is recorded, and finds the program's table of descriptors as natively."""
    program = ["prlimit", "--nofile=64", box.own("full_table")]
    alone, done = box.run(program), box.record(program)
    equal((done.stdout, done.stderr), (alone.stdout, b""), "what it did")
    equal(alone.stdout.count(b"thread 1, fork 700, clone 700"), 2, f"{alone.stdout}")
    tasks = box.report(COMPLETE)["tasks"]
    equal([sum(task["thread"] == kind for task in tasks) for kind in (False, True)], [5, 3], f"{tasks}")


def within_limits_of_memory(box):
    """The engine's memory is no part of what the program limits, nor of what a shell does for it (ulimit)."""
    alone = box.run([box.own("limited")])
    check(alone.stdout.count(b"no memory") == 2 and alone.stdout.endswith(b"5\n"), f"{alone}")
    done = box.record([box.own("limited")])
    equal(done.stdout, alone.stdout, "what it found")
    box.report(COMPLETE)
    for kind in ("v", "d"):
        shell = ["sh", "-c", f"ulimit -{kind} 20000; ulimit -{kind}; {box.program('hello')}; true"]
        alone, done = box.run(shell), box.record(shell)
        equal(done.stdout, alone.stdout, f"output under ulimit -{kind}")
        check(b"hello" in done.stdout, f"{done}")
        box.report(COMPLETE)


def what_the_core_file_shows(box, how, status, question):
    """Of `ends HOW`, in gdb's words."""
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
        if file.read().strip() not in ("core", "core.%p"):
            raise Skip("core files go elsewhere here (/proc/sys/kernel/core_pattern)")
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY and os.geteuid() != 0:
        raise Skip("core files are limited here (ulimit -Hc)")
    folder = box.path("core_of_" + how)
    os.mkdir(folder)

    def allow():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        os.chdir(folder)

    data = os.path.abspath(box.path("of_" + how))
    box.record([os.path.abspath(box.own("ends")), how], status=status, data=data, preexec_fn=allow)
    (core,) = os.listdir(folder)
    core = os.path.join(folder, core)
    told = box.run([box.tool("gdb"), "-q", "-batch", "-ex", question, box.own("ends"), core]).stdout.decode()
    os.remove(core)
    return told


def a_core_file_shows_the_program(box):
    """Where it ended, with its own registers: of faults, and of what somebody sent."""
    for how, status, place in (("segv", 139, "#0 .* write_to "), ("fpe", 136, "#0 .* main "), ("abort", 134, "abort \\(\\)")):
        told = what_the_core_file_shows(box, how, status, "backtrace")
        check(re.search(place, told), f"{how}: {told}")


def a_core_file_shows_all_threads(box):
    """Of those that did not end the process too, at work and in a system call."""
    told = what_the_core_file_shows(box, "crowd", 139, "thread apply all backtrace")
    for place in ("write_to", "counts_on", "reads_on"):
        check(f" {place} (" in told, f"{place}: {told}")


def in_a_root_without_proc(box):
    """Where mappings lie the recorder says, and where its files lie."""
    if os.geteuid() != 0:
        raise Skip("only root can change its root")
    root = box.path("root")
    os.mkdir(root)
    shutil.copy(box.program("hello_static"), os.path.join(root, "hello"))
    done = box.record(["/usr/sbin/chroot", root, "/hello"])
    equal(done.stdout, b"hello\n", "output")
    box.stats(COMPLETE)
    check(pieces_of_code(box.data) < 20, "no more pieces of code than the kernel's page (vDSO) has")


def pieces_of_code(path):
    """How many PERF_RECORD_TEXT_POKE a recording has."""
    kTextPoke, kAuxtrace = 20, 71
    data = open(path, "rb").read()
    at, size = struct.unpack_from("<QQ", data, 40)
    end, found = at + size, 0
    while at < end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        found += kind == kTextPoke
        at += size + (struct.unpack_from("<Q", data, at + 8)[0] if kind == kAuxtrace else 0)
    return found


def in_a_root_by_pivot_root(box):
    """Where this one's files have the names of others, which the recording keeps."""
    if os.geteuid() != 0:
        raise Skip("only root can change its root")
    root = box.path("root")
    program = box.program("hello")
    wanted = re.findall(r"(/\S+) \(0x", box.run(["ldd", program]).stdout.decode())
    for path in wanted:
        os.makedirs(root + os.path.dirname(path), exist_ok=True)
        with open(path, "rb") as file:
            bytes_there = bytearray(file.read())
        note = bytes_there.index(b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0")
        bytes_there[note + 16] ^= 0xFF  # another build-id
        with open(root + path, "wb") as file:
            file.write(bytes_there)
        os.chmod(root + path, 0o755)
    shutil.copy(program, os.path.join(root, "hello"))
    os.mkdir(os.path.join(root, "old"))
    script = f"mount --bind {root} {root} && cd {root} && pivot_root . old && exec /hello"
    command = [box.tool("unshare"), "--mount", "sh", "-c", script]
    if box.run(command).returncode != 0:
        raise Skip("nothing can be mounted here")
    done = box.record(command)
    equal(done.stdout, b"hello\n", "output")
    box.read("check", COMPLETE)
    check(pieces_of_code(box.data) < 60, "what is kept of three files is in pieces of 60 KB")


def in_files_that_a_process_serves(box):
    """Nobody waits for who serves them, which is recorded too, and they are copied before it ends."""
    for user in ("0", "65534"):
        folder = tempfile.mkdtemp()  # where any user comes
        os.chmod(folder, 0o755)
        command = [box.own("served"), folder, box.program("hello"), user]
        alone = box.run(command)
        if alone.returncode == 77:
            raise Skip(alone.stdout.decode().strip())
        equal(alone.returncode, 0, f"alone: {alone.stdout!r}")
        done = box.record(command)
        equal(done.stdout, b"hello\n", "output")
        box.stats(COMPLETE)
        box.read("check", COMPLETE)
        functions = json.loads(box.run([box.hodo, "list", "main", box.data, "--json"]).stdout)["functions"]
        check(os.path.join(folder, "file") in [one["object"] for one in functions], f"{user}: {functions}")
        os.rmdir(folder)


def bytes_that_ran(table):
    """Of the basic blocks of `hodo coverage --format drcov2`."""
    at = table.index(b"\n", table.index(b"BB Table: ")) + 1
    spans = sorted((module, start, start + size) for start, size, module in struct.iter_unpack("<IHH", table[at:]))
    ran, last, end = 0, None, 0
    for module, start, behind in spans:
        start = max(start, end) if module == last else start
        ran += max(0, behind - start)
        end = max(behind, end) if module == last else behind
        last = module
    return ran


def cache_and_tables_of_small_programs(box):
    """At most ten bytes for each byte of code that ran."""
    for command in (["ls", "-l", "/usr/bin"], ["gzip", "-c", box.program("hello")]):
        box.record(command)
        made = int(re.search(rb'"made_bytes":(\d+)', open(box.data, "rb").read())[1])
        ran = bytes_that_ran(box.run([box.hodo, "coverage", box.data, "--format", "drcov2"]).stdout)
        check(made < 10 * ran, f"{command[0]}: {made} bytes for {ran}")


def in_a_small_cache(box):
    """Code is translated again and again, by each unit, and nothing changes."""
    for options in (["--source", "dbi"], ["--source", "bts"], ["--source", "dbi", "--no-return-compression"]):
        done = box.record([box.program("threads")], [*options, "--cache-size", "1M"])
        equal(done.stdout, box.run([box.program("threads")]).stdout, f"{options}: output")
        box.stats(COMPLETE)
    box.record(["/usr/bin/python3", "-S", "-c", "import json"], ["--cache-size", "1M"])
    summary = re.search(rb'"cache":\{"code_bytes":(\d+),"made_bytes":(\d+),"most_bytes":(\d+),"editions":(\d+)\}', open(box.data, "rb").read())
    code, made, most, editions = map(int, summary.groups())
    check(most < 768 << 10, f"{most} bytes in one edition of 512 KB")
    check(editions > 4 and made > code > 0, f"{editions} editions, {made} bytes of {code}")
    done = box.record([box.program("hello")], ["--cache-size", "1000"], status=2)
    check(b"at least 1M" in done.stderr, f"{done.stderr!r}")
    done = box.record([box.program("hello")], ["--source", "qemu", "--cache-size", "2M"], status=2)
    check(b"--cache-size" in done.stderr, f"{done.stderr!r}")
