"""libipt decodes our recordings to the same instructions as hodo does."""

import json
import os

from box import Failure, HERE, equal

DATA = os.path.join(HERE, "..", "differential", "data")
FIXTURES = """
hello hello_static hello_nopie threads exceptions longjmp signals signals_static fork_wait spawn
exec_chain dlopen_loop jit self_modifying recursion dispatch string_ops coroutines tail_calls
returns_nowhere
hello_32 threads_32 signals_32 fork_wait_32 jit_32 recursion_32 string_ops_32 tail_calls_32
returns_nowhere_32
""".split()


def _same(box, arguments, options=()):
    box.record(arguments, options)
    done = box.run([box.own("same_as_libipt"), box.data])
    print(done.stdout.decode(), done.stderr.decode())
    if done.returncode != 0:
        raise Failure(f"libipt and hodo differ over {arguments} {options}")
    _counts(box.stats(), json.loads(done.stdout.decode().partition("\ncounts ")[2]))


def _counts(stats, libipt):
    """What `hodo stats --json` counts, by libipt's count of instructions and packets."""
    kinds = stats["branches"]["kinds"]
    equal(kinds["cond"] + stats["branches"]["not_taken"], libipt["cond"], "conditional branches")
    equal(kinds["call"] + kinds["icall"], libipt["call"], "calls")
    equal(kinds["ret"], libipt["ret"], "returns")
    equal(kinds["jmp"] + kinds["ijmp"], libipt["jump"], "jumps")
    equal(kinds["syscall"] + kinds["int"], libipt["far"], "system calls")
    equal(stats["packets"]["kinds"], libipt["packets"], "packets")
    total = sum(packet["bytes"] for packet in stats["packets"]["kinds"].values())
    equal(total, stats["bytes"], "bytes of all packets")


def _fixture(name):
    def case(box):
        _same(box, [box.program(name)])

    return case


for _name in FIXTURES:
    globals()[_name] = _fixture(_name)


def without_return_compression(box):
    _same(box, [box.program("recursion")], ["--no-return-compression"])


def with_cycles_and_short_psb_period(box):
    _same(box, [box.program("exceptions")], ["--cyc", "--psb-period", "2048"])


def without_timing(box):
    _same(box, [box.program("recursion")], ["--no-timing"])


def gzip(box):
    with open("/bin/bash", "rb") as file, open(box.path("bytes"), "wb") as out:
        out.write(file.read(8 * 1024))
    _same(box, [box.tool("gzip"), "-9", "-k", "bytes"])


def python(box):
    _same(box, ["/usr/bin/python3", "-S", "-E", os.path.join(DATA, "primes.py")])


def shell(box):
    _same(box, ["sh", "-c", "/bin/echo one; ls / | wc -l"])
