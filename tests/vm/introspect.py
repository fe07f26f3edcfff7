#!/usr/bin/python3
"""Runs one case of looking into a virtual machine from outside; status and options are box.py's."""

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import time

import guest
from box import Failure, check, main


@contextlib.contextmanager
def machine(box, words):
    """A machine that runs while the body does; gives its serial console."""
    qemu = subprocess.Popen([*words, "-qmp", "unix:qmp,server=on,wait=off"], cwd=box.work, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        while not os.path.exists(box.path("qmp")) and qemu.poll() is None:
            time.sleep(0.05)
        yield qemu.stdout
    finally:
        qemu.kill()
        qemu.stdout.close()
        qemu.wait()


def boots(console, word):
    """The console's lines up to one that has `word`."""
    said = []
    for line in console:
        said.append(line)
        if word in line:
            return said
    raise Failure(f"the guest did not come to '{word}': {''.join(said)}")


def listed(box, *words, status=0):
    """{name: process} of hodo vm ps."""
    answer = json.loads(box.run(box.hodo, "vm", "ps", "--qmp", "qmp", "--json", *words, status=status).stdout)
    return answer, {process["name"]: process for process in answer["processes"]}


def processes(box):
    """The guest's processes as it knows them itself, with isolated page tables on two processors,
    while it runs, and it goes on afterwards."""
    script = ("known_path 100000000 & sleep 5000 & echo sleeper $!; echo ready\n"
              "while sleep 1; do echo still here; done\n")
    guest.write_initramfs(box.path("initrd"), script, [box.program("known_path")])
    with machine(box, box.guest("-smp", "2", boot="pti=on", moved=True)) as console:
        boots(console, "ready")
        answer, found = listed(box)
        text = box.run(box.hodo, "vm", "ps", "--qmp", "qmp", "--time", "0").stdout
        boots(console, "still here")
        boots(console, "still here")
    check(answer["isolated"] and answer["cross_checked"] and answer["processors"] == 2, f"wrong: {answer | {'processes': []}}")
    check("Linux version" in answer["system"], f"the guest is {answer['system']}")
    check({"init", "kthreadd", "known_path", "sleep"} <= found.keys(), f"found only {list(found)}")
    busy = found["known_path"]
    check(busy["executable"] == "/bin/known_path" and busy["ppid"] == 1, f"known_path is {busy}")
    check(busy["user_looks"] > 0, f"nobody saw known_path in user mode: {busy}")
    spaces = [process["cr3"] for process in answer["processes"] if process["cr3"] is not None]
    check(len(set(spaces)) == len(spaces), f"processes share an address space: {spaces}")
    check(found["kthreadd"]["cr3"] is None, "a kernel thread has an address space")
    check(not any(process["hidden"] for process in found.values()), "somebody is hidden")
    check(" known_path " in text and "HIDDEN" not in text, f"as text: {text}")


def hidden_process(box):
    """A process that its guest's ps does not show is shown, and marked, and so is a kernel thread."""
    script = ("echo > /hodo-test-guest; sleep 5000 &\n"
              "thread=$(ps | awk '/\\[ksoftirqd\\/0\\]/ {print $1}')\n"
              "for pid in $! $thread; do insmod /bin/guest_hooks.ko variant=process pid=$pid; rmmod guest_hooks; done\n"
              "ps | grep -cE '[s]leep 5000|[k]softirqd'; echo ready; sleep 6000")
    guest.write_initramfs(box.path("initrd"), script, [box.hooks_module()])
    with machine(box, box.guest()) as console:
        said = boots(console, "ready")
        answer, _ = listed(box, status=1)
        text = box.run(box.hodo, "vm", "ps", "--qmp", "qmp", "--time", "0", status=1).stdout
    check("0\n" in said, f"the guest itself shows them: {said}")
    hidden = {process["name"]: process for process in answer["processes"] if process["hidden"]}
    check(hidden.keys() == {"sleep", "ksoftirqd/0"}, f"hidden are {hidden}")
    process, thread = hidden["sleep"], hidden["ksoftirqd/0"]
    check(process["executable"] == "/bin/busybox" and process["ppid"] == 1, f"hidden is {process}")
    check(thread["cr3"] is None and thread["ppid"] == 2, f"hidden is {thread}")
    check(text.count("HIDDEN") == 2 and "2 of " in text, f"as text: {text}")


# What the guest does: for each variant of the module a directory is listed while it is loaded: of ramfs, since
# tmpfs has operations of its own since Linux 6.6.
HOOKS = """echo > /hodo-test-guest; mkdir /folder; mount -t ramfs none /folder
echo > /folder/hidden_file; echo > /folder/other
with() { insmod /bin/guest_hooks.ko "$@"; echo "$1: $(/bin/ls /folder)" | tr '\\n' ' '; echo; }
with variant=honest; /bin/cat /proc/honest; rmmod guest_hooks
with variant=pointer; rmmod guest_hooks
with variant=dispatch; rmmod guest_hooks
with variant=start; rmmod guest_hooks
with variant=ftrace; rmmod guest_hooks
"""
# The rule that finds each, to which function of the module, and what its reason must say.
FOUND = [
    ("kernel.pointer", "filtered_iterate", ["simple_dir_operations+0x", "iterate_dir calls it"]),
    ("kernel.jump", "filtered_getdents64", ["text of x64_sys_call+0x", "sys_call_table+0x6c8 leads there, too"]),
    ("kernel.jump", "filtered_iterate", ["text of dcache_readdir was changed"]),
    ("kernel.detour", "filtered_iterate", ["it is what dcache_readdir was traced with"]),
]


def hooked_kernel(box):
    """Four ways to hide a file from ls are found, each by its rule and with both functions; what an honest module
    and ftrace do is not."""
    guest.write_initramfs(box.path("initrd"), HOOKS, [box.hooks_module()])
    done = box.run(box.hodo, "vm", "record", "--kernel", "--process", "ls", "--process", "cat", "-o", "vm.data", "--",
                   *box.guest(moved=True))
    listings = [line for line in done.stdout.splitlines() if line.startswith("variant=")]
    check(len(listings) == 5 and "hidden_file" in listings[0], f"the guest listed {listings}")
    check(not any("hidden_file" in line for line in listings[1:]), f"a hook does not hide: {listings}")
    answer = json.loads(box.run(box.hodo, "vm", "check", "vm.data", "--json", status=1).stdout)
    findings = answer["findings"]
    for rule, target, reasons in FOUND:
        fits = [finding for finding in findings if finding["rule"] == rule
                and finding["to"]["symbol"] == target and all(part in finding["reason"] for part in reasons)]
        check(len(fits) == 1, f"{rule} to {target} is not among {json.dumps(findings, indent=1)}")
        check(fits[0]["to"]["object"] == "[guest_hooks]", f"it leads to {fits[0]['to']}")
        check(len(fits[0]["before"]) == 32 and len(fits[0]["after"]) == 8, "the branches around it are missing")
    check(len(findings) == len(FOUND), f"more is found: {[finding['reason'] for finding in findings]}")
    check(len(answer["not_judged"]) == 2 and "--kernel" in answer["not_judged"][0], f"wrong: {answer['not_judged']}")
    check_text(box)


def check_text(box):
    """Held against its image, the kernel's text differs at the two places that were written to, and nowhere else; and
    before any hook nowhere at all."""
    words = [box.hodo, "vm", "check", "vm.data", "--kernel", box.kernel]
    text = box.run(*words, status=1).stdout
    check("give its image" not in text and text.count("not judged: ") == 1, f"as text: {text}")
    changed = [line.split()[0] for line in text.splitlines() if "none of the kernel's tables" in line]
    check(len(changed) == 2 and changed[0].startswith("x64_sys_call+0x") and changed[1] == "dcache_readdir+0x0",
          f"changed are {changed}")
    pids = list(box.names("vm.data"))
    for pid in pids[:2]:  # with the honest module
        done = box.run(*words, "--pid", str(pid))
        check("no finding" in done.stdout, f"process {pid}: {done.stdout}")
    box.run(box.hodo, "vm", "check", "vm.data", "--kernel", box.hodo, status=2)


def attached(box):
    """hodo vm attach gets the code from the memory of the running machine: the kernel's, with its names, and that of
    the process. The trace is that of a recording of the same machine which is still going on (attach_driver.cc), and
    so are the branches. The kernel isolates its page tables."""
    guest.write_initramfs(box.path("initrd"), "exec known_path 100000000", [box.program("known_path")])
    words = [box.hodo, "vm", "record", "--process", "known_path", "--user", "--kernel", "-o", "vm.data", "--",
             *box.guest("-qmp", "unix:qmp,server=on,wait=off", boot="pti=on", moved=True)]
    recorder = subprocess.Popen(words, cwd=box.work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
    try:
        while branches_so_far(box, "vm.data") < 100_000:
            check(recorder.poll() is None, "the recording ended by itself")
            time.sleep(0.2)
        box.run(box.program("attach_driver"), "vm.data", "qmp", "attach.data")
    finally:
        recorder.send_signal(signal.SIGTERM)
        recorder.wait(timeout=60)
    names = box.names("attach.data")
    check(list(names.values()) == ["known_path"] and names == box.names("vm.data"), f"attached to were {names}")
    compared = 0
    with branch_lines(box, "attach.data") as found, branch_lines(box, "vm.data") as recorded:
        for ours, theirs in zip(found, recorded):
            check(without_time(ours) == without_time(theirs), f"branch {compared} is {ours}, and was {theirs}")
            compared += 1
        check(compared > 50_000 and found.readline() == "", f"only {compared} branches are the same")
    report = box.run(box.hodo, "report", "attach.data").stdout
    check("known_path" in report and "__schedule" in report and "[kernel]" in report, f"names are missing: {report}")
    compress_returns(box.path("attach.data"))
    box.check_perf("attach.data")


def branches_so_far(box, file):
    """How many branches a recording has that is still being made."""
    stats = subprocess.run([box.hodo, "stats", "--json", file], cwd=box.work, capture_output=True, text=True, timeout=60)
    return json.loads(stats.stdout)["branches"]["taken"] if stats.stdout.strip() else 0


@contextlib.contextmanager
def branch_lines(box, file):
    hodo = subprocess.Popen([box.hodo, "branches", file, "--format", "csv"], cwd=box.work, stdout=subprocess.PIPE,
                            text=True)
    try:
        yield hodo.stdout
    finally:
        hodo.kill()
        hodo.stdout.close()
        hodo.wait()


def without_time(line):
    return line.split(",", 2)[2]


def compress_returns(file):
    """vm attach has the processor not compress returns, and perf believes it. The trace unit did."""
    with open(file, "r+b") as data:
        at = struct.unpack_from("<8sQQQQ", data.read(40))[3]  # of the first event's attributes
        data.seek(at + 8)
        (config,) = struct.unpack("<Q", data.read(8))
        data.seek(at + 8)
        data.write(struct.pack("<Q", config & ~(1 << 11)))


def unknown_system(box):
    """Of a guest that is no Linux, the address spaces; nothing is concluded from what is not known."""
    with machine(box, ["qemu-system-x86_64", *guest.ARGUMENTS]):
        done = box.run(box.hodo, "vm", "ps", "--qmp", "qmp", "--json", status=3)
    answer = json.loads(done.stdout)
    check("no processor of the guest runs in 64-bit mode" in answer["system"], f"the guest is {answer['system']}")
    check("processes" not in answer and answer["looks"] > 0, f"wrong: {answer}")


def nobody_to_ask(box):
    """Sockets that are none are refused with the remedy."""
    os.mkdir(box.path("folder"))
    for socket in ("nowhere", "folder"):
        done = box.run(box.hodo, "vm", "ps", "--qmp", socket, status=2)
        check("start the machine with -qmp" in done.stderr, f"{socket}: {done.stderr}")


CASES = {case.__name__: case for case in (processes, hidden_process, hooked_kernel, attached, unknown_system, nobody_to_ask)}

if __name__ == "__main__":
    sys.exit(main(CASES))
