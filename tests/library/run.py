#!/usr/bin/python3
"""Installs the library, builds the examples with find_package and one with pkg-config, includes each
installed header alone, and runs the examples."""

import argparse
import os
import shutil
import struct
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

OWN_CODE = """\
begin  0 -> 401000
jmp    401006 -> 401000
jmp    401006 -> 401000
cond   401002 -> 401008
ret    401008 -> 0
11 instructions
"""


def run(*command, **keywords):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **keywords)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def same(found, expected, what):
    if found != expected:
        sys.exit(f"{what}:\n{found}\nexpected:\n{expected}")


def trace_of_own_code():
    """The packets of examples/own_code.cc, byte by byte."""
    psb = b"\x02\x82" * 8 + b"\x99\x01" + b"\x02\x23"  # with MODE.Exec CS.L, PSBEND
    start = b"\x71" + struct.pack("<Q", 0x401000)[:6]  # TIP.PGE, sign-extended 48 bits
    return psb + start + bytes([0b00010010]) + b"\x01"  # TNT NNT, TIP.PGD without an address


def headers(prefix):
    for folder, _, names in os.walk(os.path.join(prefix, "include")):
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), os.path.join(prefix, "include"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--launcher", default="", help="of the compiler: keeps what was compiled")
    options = parser.parse_args()
    cxx = [*options.launcher.split(), options.cxx]
    work, prefix = options.work, os.path.join(options.work, "prefix")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    run("cmake", "--install", options.build, "--prefix", prefix, "--component", "Development")

    built = os.path.join(work, "examples")
    run("cmake", "-G", "Ninja", "-S", os.path.join(ROOT, "examples"), "-B", built,
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={options.cxx}", f"-DCMAKE_CXX_COMPILER_LAUNCHER={options.launcher}")
    run("ninja", "-C", built)
    same(run(os.path.join(built, "own_code")), OWN_CODE, "own_code")
    same(run(os.path.join(built, "debug_store")),
         "100 records, 1 interrupt, the last 64 -> 1064\n", "debug_store")

    with open(os.path.join(work, "code.bin"), "wb") as file:
        file.write(bytes.fromhex("85ff7404ffcfebf8c3"))
    with open(os.path.join(work, "trace.pt"), "wb") as file:
        file.write(trace_of_own_code())
    # Edges: not taken, jmp, taken; the begin and the return to nowhere are none.
    same(run(os.path.join(built, "coverage_map"), "bin:0x401000:code.bin", "trace.pt", "trace.pt",
             cwd=work),
         "trace.pt: 11 instructions, 3 new bytes in the map, 0 losses\n"
         "trace.pt: 11 instructions, 0 new bytes in the map, 0 losses\n", "coverage_map")

    config = dict(os.environ)
    for folder, _, names in os.walk(prefix):
        if "hodoscope.pc" in names:
            config["PKG_CONFIG_PATH"] = folder
    flags = run("pkg-config", "--static", "--cflags", "--libs", "hodoscope", env=config).split()
    everything = os.path.join(work, "headers.cc")
    with open(everything, "w", encoding="utf-8") as file:
        file.writelines(f'#include "{name}"\n' for name in sorted(headers(prefix)))
    compile_flags = [flag for flag in flags if not flag.startswith("-l") and not flag.startswith("-L")]
    run(*cxx, "-std=c++23", "-c", everything, "-o", everything + ".o", *compile_flags)
    listed = os.path.join(work, "list_branches")
    run(*cxx, "-std=c++23", "-c", os.path.join(ROOT, "examples", "list_branches.cc"), "-o", listed + ".o", *compile_flags)
    run(options.cxx, listed + ".o", *flags, "-o", listed)
    recording = os.path.join(ROOT, "fuzz", "corpus", "perfdata", "recording")
    done = subprocess.run([listed, recording], capture_output=True, text=True, check=False)
    if "instructions" not in done.stdout:
        sys.exit(f"list_branches: {done.returncode}\n{done.stdout}{done.stderr}")


main()
