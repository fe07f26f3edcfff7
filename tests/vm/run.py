#!/usr/bin/python3
"""Runs one case of recording processes inside a virtual machine.

Exit status 0: as it must be; 1: not; 77: what the case needs is not here.
"""

import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import guest
from box import ROUNDS, Failure, Skip, check, check_same, in_kernel, in_user_mode, main, without_interruptions

def with_kernel(box):
    """With the guest's kernel in it a process's path is a whole: what it does in user mode is the same
    as ever, and system calls, interrupts and page faults lead through the kernel's functions. The
    kernel isolates its page tables, so that each process has two CR3 values, and every system call
    writes CR3 twice; two processes that wait for each other add a switch to each."""
    rounds = 100
    box.record_vm(f"known_path {ROUNDS}; narrow; ping_pong {rounds}", ["known_path", "narrow", "ping", "pong"],
                  options=["--user", "--kernel"], boot="pti=on")
    pids = {name: pid for pid, name in box.names("vm.data").items()}
    check(pids.keys() == {"known_path", "narrow", "ping", "pong"}, f"recorded were {list(pids)}")
    branches = box.branches("vm.data")
    check_same(without_interruptions(in_user_mode(branches[pids["known_path"]])), box.host_path(), "user mode")
    started = box.run(box.hodo, "branches", "vm.data", "--process", str(pids["known_path"]), "--function", "setup_new_exec")
    check("load_elf_binary" in started.stdout, "the rest of the exec that it began with is missing")
    for kind in ("syscall", "sysret", "irq", "iret"):
        check(any(branch[2] == kind for branch in branches[pids["known_path"]]), f"there is no {kind}")
    check_listed(box, pids, branches)
    check_narrow(branches[pids["narrow"]])
    check_ping_pong(pids, branches, rounds)
    packets = box.run(box.hodo, "packets", "vm.data").stdout
    for packet in ("PIP 0x", "MODE.Exec IF:0 32", "MODE.Exec IF:0 64"):
        check(packet in packets, f"there is no {packet}")
    check(packets.count("PIP 0x") > 8 * rounds, f"CR3 was written only {packets.count('PIP 0x')} times")
    box.check_perf("vm.data", but=[pids["narrow"]])  # which perf takes for 64-bit code


def check_listed(box, pids, branches):
    """hodo vm ps of the recording: everybody with their address space and all branches."""
    answer = json.loads(box.run(box.hodo, "vm", "ps", "vm.data", "--json").stdout)
    found = {process["name"]: process for process in answer["processes"]}
    check({name: process["pid"] for name, process in found.items()} == pids, f"listed are {found}")
    for name, process in found.items():
        check(len(process["cr3"]) == 1 and int(process["cr3"][0], 16) & 0x1000, f"{name} ran in {process['cr3']}")
        check(process["branches"] == len(branches[process["pid"]]), f"{name} has {process['branches']} branches")
    check(found["ping"]["cr3"] != found["pong"]["cr3"], f"two that run together share an address space: {found}")


def check_ping_pong(pids, branches, rounds):
    """The two that wait for each other: each is recorded from the moment it has its name up to its end, with every
    system call that it made."""
    for name, others in (("ping", 2), ("pong", 1)):  # wait4 and exit_group
        user = in_user_mode(branches[pids[name]])
        calls = sum(kind == "syscall" for _, _, kind, _ in user)
        check(calls == 2 * rounds + others, f"{name} made {calls} system calls in {rounds} rounds")
        turns = max(collections.Counter(branch[:2] for branch in user if branch[0] and branch[1]).values())
        check(turns == rounds, f"{name} went round {turns} times, and not {rounds}")


def check_narrow(branches):
    """The 32-bit program goes round its loop 1000 times and exits by INT 0x80."""
    user = collections.Counter(b[:2] for b in branches if not in_kernel(b[0]) and not in_kernel(b[1]))
    check(user.most_common(1)[0][1] in (999, 1000), f"its branches are {user}")
    check(any(not in_kernel(b[0]) and in_kernel(b[1]) for b in branches), "it made no system call")


def several_processes(box):
    """Twelve processes on four processors at once, one that starts others, and two that make the processors change
    between them: each is complete, its start and its end are there, and nobody else is recorded."""
    count, rounds = 12, 3000
    start = "".join(f"known_path {ROUNDS} & " for _ in range(count))
    box.record_vm(f"{start}\nping_pong {rounds} &\nfamily /bin/known_path {ROUNDS} &\nwait",
                  ["known_path", "family", "ping", "pong"], "-smp", "4", options=["--children"])
    names = box.names("vm.data")
    check(collections.Counter(names.values()) == {"known_path": count + 1, "family": 2, "ping": 1, "pong": 1},
          f"recorded were {names}")
    expected = box.host_path()
    branches = box.branches("vm.data")
    check_ping_pong({name: pid for pid, name in names.items()}, branches, rounds)
    for pid, name in names.items():
        if name == "known_path":
            path = without_interruptions(branches[pid])
            start = path.index(expected[0])  # before its exec one of them was part of the family
            check_same(path[start:], expected, f"process {pid}, outside")
            check(any(kind == "end" for _, _, kind, _ in branches[pid]), f"process {pid} had no page fault")
    check_coverage(box, next(pid for pid, name in names.items() if name == "known_path"))
    check_verdict(box)
    check_family(box)
    box.check_perf("vm.data")


def check_coverage(box, pid):
    """The same blocks ran equally often in the process as outside. Inside there are more: a page fault divides one."""
    def blocks(*words):
        (module,) = json.loads(box.run(box.hodo, "coverage", "--json", *words).stdout)["modules"]
        return {int(block["address"], 16): block["count"] for block in module["blocks"]}

    inside, outside = blocks("--pid", str(pid), "vm.data"), blocks("host.data")
    ran = {address: count for address, count in outside.items() if count != 0}
    check(ran.items() <= inside.items(), f"blocks inside: {inside}, outside: {outside}")
    check(len(ran) >= 30, f"only {len(ran)} blocks")


def check_verdict(box):
    """Nobody did anything wrong; what the guest's files allow is only known with those files."""
    text = box.run(box.hodo, "check", "vm.data", status=3).stdout
    check("no finding" in text and "--symfs DIR says where" in text, text)
    os.makedirs(box.path("root/bin"), exist_ok=True)
    for name in ("known_path", "family", "ping_pong"):
        shutil.copy(box.program(name), box.path("root/bin"))
    text = box.run(box.hodo, "check", "--symfs", "root", "vm.data").stdout
    check("no finding" in text, text)


def check_family(box):
    """Of the program that starts others: it has a thread that spins 300 times, its child does so 200
    times, and everybody's start and end are recorded."""
    loops = collections.Counter(box.listed("vm.data", ("pid", "tid", "from", "to")))
    most = collections.Counter()
    for (pid, tid, _, _), times in loops.items():
        most[pid, tid] = max(most[pid, tid], times)
    check(sum(pid != tid for pid, tid in most) == 1, f"there is not one thread: {list(most)}")
    check(any(pid != tid and times in (299, 300) for (pid, tid), times in most.items()), f"its loop: {most}")
    check(any(pid == tid and times in (199, 200) for (pid, tid), times in most.items()), f"the child's loop: {most}")
    records = box.run("perf", "script", "-i", "vm.data", "--show-task-events", "--no-itrace").stdout
    for kind in ("PERF_RECORD_FORK", "PERF_RECORD_EXIT"):
        check(records.count(kind) == len(most), f"{records.count(kind)} records {kind}, of {len(most)} threads")


def injected_library(box):
    """A debugger in the guest (ptrace) puts a library into a running process, and the check says so."""
    linked = box.run("ldd", box.program("victim")).stdout
    libraries = re.findall(r"(/\S+) \(0x", linked)
    libc = next(path for path in libraries if path.endswith("/libc.so.6"))
    exported = box.run("nm", "-D", libc).stdout
    dlopen = re.search(r"^([0-9a-f]+) T dlopen@@", exported, re.MULTILINE).group(1)
    files = [("bin/victim", box.program("victim")), ("tmp/libinjected.so", box.program("libinjected.so"))]
    files += [(path[1:], path) for path in libraries]
    done = box.record_vm(f"""victim & sleep 1
injector $! {dlopen} /tmp/libinjected.so
touch /tmp/done
wait""", ["victim"], files=[*files, ("bin/injector", box.program("injector"))])
    check("the library is in" in done.stdout and "injected" in done.stdout, f"nothing was injected: {done.stdout}")
    for name, source in files:
        os.makedirs(os.path.dirname(box.path(f"root/{name}")), exist_ok=True)
        shutil.copy(source, box.path(f"root/{name}"))
    found = json.loads(box.run(box.hodo, "check", "--json", "--symfs", "root", "vm.data", status=1).stdout)["findings"]
    found += [step for finding in found for step in finding["steps"]]
    rules = {finding["rule"] for finding in found}
    # The thread was put into dlopen, which returned to where no call had come from.
    check(rules == {"library.injected", "call.sensitive", "return.target"}, f"found were {rules}")
    finding = next(finding for finding in found if finding["rule"] == "library.injected")
    check("libinjected.so" in json.dumps(finding) and "a debugger" in finding["reason"], f"the finding: {finding}")


NESTED = (r"=> \w+ init_module\+0x0 \(\[guest_hooks\]\)",
          r" irq .*=> \w+ asm_sysvec_irq_work\+0x0",
          r"=> \w+ fault_inside\+0x0 \(\[guest_hooks\]\)",
          r" irq .* fault_inside\+.*=> \w+ asm_exc_page_fault\+0x0",
          r" iret .*=> \w+ fault_inside\+",
          r" iret ",
          r" ret .* init_module\+.*=> \w+ do_one_initcall\+")


def loaded_module(box):
    """A module is loaded while its loader is recorded: its functions have their names, also those that are freed
    when it is loaded, and nothing is lost. It has the processor interrupted, and the handler of that has a page
    fault: the fault comes in the interrupt and returns into it."""
    guest.write_initramfs(box.path("initrd"), "echo > /hodo-test-guest; insmod /bin/guest_hooks.ko variant=nested",
                          [box.hooks_module()])
    box.run(box.hodo, "vm", "record", "--process", "insmod", "--user", "--kernel", "-o", "vm.data", "--", *box.guest())
    check(list(box.names("vm.data").values()) == ["insmod"], f"recorded were {box.names('vm.data')}")
    lines = box.run(box.hodo, "branches", "vm.data", "--sort", "time").stdout.splitlines()
    at, found = 0, []
    for step in NESTED:
        found.append(next((i for i in range(at, len(lines)) if re.search(step, lines[i])), None))
        check(found[-1] is not None, f"no '{step}' behind {lines[at]}")
        at = found[-1] + 1
    interrupted = re.search(r" irq +(\w+)", lines[found[1]])[1]
    resumed = re.search(r"=> (\w+)", lines[found[5]])[1]
    check(interrupted == resumed, f"interrupted at {interrupted}, and resumed at {resumed}")
    box.check_perf("vm.data")


def patched_kernel(box):
    """The kernel patches itself (jump labels, by way of a breakpoint) in functions that both processors are in all the
    time: each decodes with what it executed, and nothing is lost."""
    rounds = 300
    on_and_off = "while :; do for on in 1 0; do echo $on > /proc/sys/kernel/sched_schedstats; done; done"
    script = f"mount -t proc proc /proc\n({on_and_off}) & patcher=$!\nping_pong {rounds}\nkill $patcher"
    # Guests that do this hang under QEMU 7.2 now and then, recorded or not (1 of 25).
    record_unless_hung(box, script, ["ping", "pong"], "-smp", "2", options=["--user", "--kernel"])
    pids = {name: pid for pid, name in box.names("vm.data").items()}
    check_ping_pong(pids, box.branches("vm.data"), rounds)


def record_unless_hung(box, *words, **options):
    for _ in range(3):
        try:
            return box.record_vm(*words, **options, patience=("timeout", "60"))  # which ends the guest, too
        except Failure as failure:
            if not str(failure).startswith("exit status 124 "):
                raise
    raise Failure("the guest hung")


def killed_machine(box):
    """When the machine is killed, what was recorded until then is there."""
    guest.write_initramfs(box.path("initrd"), "echo begins; known_path 100000000", [box.program("known_path")])
    recorder = subprocess.Popen([box.hodo, "vm", "record", "-o", "vm.data", "--process", "known_path", "--", *box.guest()],
                                cwd=box.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True, errors="replace")
    for line in recorder.stdout:
        if "begins" in line:
            break
    while not os.path.exists(box.path("vm.data")) or os.path.getsize(box.path("vm.data")) < 100_000:
        check(recorder.poll() is None, "the recording ended by itself")
        time.sleep(0.05)
    machine = subprocess.run(["pgrep", "-P", str(recorder.pid)], capture_output=True, text=True).stdout
    os.kill(int(machine), signal.SIGKILL)
    recorder.stdout.close()
    check(recorder.wait(timeout=60) == 128 + signal.SIGKILL, f"exit status {recorder.returncode}")
    names = box.names("vm.data")
    check(list(names.values()) == ["known_path"], f"recorded were {names}")


def restarted_machine(box):
    """A guest that crashes and starts anew, its kernel elsewhere, is recorded before and after. The clock
    tells its two lives apart."""
    script = f"""known_path {ROUNDS}
[ $(date +%Y) = 2001 ] && poweroff -f
date -s 2001.02.03-04:05:06
hwclock -w
echo c > /proc/sysrq-trigger"""
    done = box.record_vm(script, ["known_path"], "-action", "reboot=reset", options=["--user", "--kernel"], moved=True)
    check("Kernel panic" in done.stdout, f"it did not crash: {done.stdout}")
    names = box.names("vm.data")
    check(set(names.values()) == {"known_path"}, f"recorded were {names}")
    lives = sum(box.branches("vm.data").values(), [])  # both may have the same number
    check_same(without_interruptions(in_user_mode(lives)), 2 * box.host_path(), "both lives, outside")


def full_disk(box):
    """When the disk is full the guest goes on, and what was recorded until then is there."""
    folder = box.path("small")
    os.mkdir(folder)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder]).returncode != 0:
        raise Skip("this user may not mount a file system")
    try:
        guest.write_initramfs(box.path("initrd"), "ls /proc; echo at its end", [])
        done = box.run(box.hodo, "vm", "record", "--process", "all", "--user", "--kernel", "-o", "small/vm.data", "--",
                       *box.guest(), status=125)
        check("No space left" in done.stderr, f"nothing is said: {done.stderr}")
        check("at its end" in done.stdout, f"the guest did not run to its end: {done.stdout}")
        stats = json.loads(box.run(box.hodo, "stats", "small/vm.data", "--json", status=3).stdout)
        check(stats["branches"]["taken"] > 1000, f"hardly a branch is left: {stats}")
    finally:
        subprocess.run(["umount", folder])


def usage(box):
    """What cannot be recorded is refused before anything runs, with the reason."""
    for words, reason in (
        ([], "no machine given"),
        (["--", "qemu-system-x86_64"], "nobody to record"),
        (["--pid", "0", "--", "qemu-system-x86_64"], "names no process"),
        (["--process", "x", "--", "ls"], "must be qemu-system-x86_64"),
        (["--process", "x", "--", "qemu-system-x86_64", "-accel", "kvm"], "with KVM"),
        (["--process", "x", "--", "qemu-system-x86_64", "-M", "q35,accel=kvm"], "with KVM"),
        (["--process", "x", "--", "qemu-system-x86_64", "-enable-kvm"], "with KVM"),
    ):
        done = box.run(box.hodo, "vm", "record", *words, status=2)
        check(reason in done.stderr, f"{words}: {done.stderr}")
    for words in ([], ["--qmp", "x", "vm.data"]):
        done = box.run(box.hodo, "vm", "ps", *words, status=2)
        check("either --qmp SOCKET" in done.stderr, f"{words}: {done.stderr}")
    check(not os.listdir(box.work), f"files are left: {os.listdir(box.work)}")


def demo(box):
    """The guest that hodo makes by itself is recorded, and what it says to do next works."""
    folder = os.path.dirname(os.path.dirname(box.kernel))  # of boot/vmlinuz-*, as demo keeps it
    words = ["--folder", box.path("guest"), "--kernel", box.kernel]
    if os.path.basename(os.path.dirname(box.kernel)) == "boot" and folder != "/":
        words = ["--folder", folder]
    done = box.run(box.hodo, "vm", "demo", "-o", "it.data", *words)
    check("guest: sorting" in done.stdout, f"the guest says nothing: {done.stdout}")
    check(set(box.names("it.data").values()) == {"sort", "gzip", "sha256sum"}, f"recorded: {box.names('it.data')}")
    branches = box.branches("it.data")
    for pid, listed in branches.items():
        check(any(in_kernel(branch[1]) for branch in listed), f"nothing of process {pid} is in the kernel")
        check(any(branch[1] and not in_kernel(branch[1]) for branch in listed), f"nothing of {pid} is outside")
    told = [line.strip() for line in done.stdout.partition("What to do next:")[2].splitlines()]
    commands = [re.split(r"\s{2,}", line)[0].split() for line in told if line.startswith("hodo ")]
    check(len(commands) == 6, f"told: {told}")
    for command in commands[:-1]:  # the last needs a guest that runs
        box.run(box.hodo, *command[1:])
    check("-qmp" in done.stdout and " stay" in done.stdout, f"told: {told}")
    os.unlink(box.path("it.data"))


def demo_needs(box):
    """What is missing for the guest is named, with the package that has it, and nothing is left behind."""
    for path, options, package in (("/nonexistent", [], "qemu-system-x86"),
                                   (os.environ["PATH"], ["--kernel", "/nonexistent"], "--kernel /nonexistent")):
        done = subprocess.run([box.hodo, "vm", "demo", "--folder", box.path("guest"), *options], cwd=box.work,
                              capture_output=True, text=True, env={**os.environ, "PATH": path})
        check(done.returncode == 127, f"exit status {done.returncode}: {done.stderr}")
        check(package in done.stderr, done.stderr)
        check(not os.path.exists(box.path("vm-demo.data")), "a recording is left")


CASES = {case.__name__: case for case in (with_kernel, several_processes, injected_library, loaded_module, patched_kernel,
                                         killed_machine, restarted_machine, full_disk, usage, demo, demo_needs)}


if __name__ == "__main__":
    sys.exit(main(CASES))
