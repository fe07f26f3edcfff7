#!/usr/bin/env python3
"""Asks recordings of small programs for moments, calls, crashes and differences.

    run.py CASE --hodo HODO --programs DIR --moments MOMENTS_CHECK --work DIR
    run.py --list

A case is a function below. Exit status 77: skipped, since its recorder does not work here.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys

import exports

# Program, source, options of the recorder: those whose paths are hard to follow.
MOMENTS = {
    "moments_dbi_threads": ("threads", "dbi"),
    "moments_dbi_signals": ("signals", "dbi"),
    "moments_dbi_longjmp": ("longjmp", "dbi"),
    "moments_dbi_exceptions": ("exceptions", "dbi"),
    "moments_dbi_exec": ("exec_chain", "dbi"),
    "moments_dbi_jit": ("jit", "dbi"),
    "moments_dbi_made_calls": ("made_calls", "dbi"),
    "moments_dbi_fork": ("fork_wait", "dbi"),
    "moments_qemu_signals": ("signals", "qemu"),
    "moments_bts_longjmp": ("longjmp", "bts"),
    "moments_lbr_hello": ("hello", "lbr"),
    "moments_step_hello": ("hello_static", "step"),
    "moments_dbi_filter": ("longjmp", "dbi", "--filter", "leap@{program}"),
    "moments_dbi_snapshot": ("threads", "dbi", "--snapshot"),
}

DEATHS = r"""
#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define HERE __attribute__((noinline))
static volatile int zero = 0;
HERE static void null_read() { *(volatile int*)zero; }                        // LINE null_read
HERE static void null_call() { ((void (*)(void))(long)zero)(); }              // LINE null_call
HERE static int overflow(int n) { volatile char b[1024]; b[0] = (char)n;
  if (n == zero - 1) return 0;  // without a conditional branch the trace cannot say how often
  return overflow(n + 1) + b[0]; }
HERE static void aborts() { abort(); }                                        // LINE abort
HERE static void asserts() { assert(zero == 1); }                             // LINE assertion
HERE static void throws() { throw std::runtime_error("x"); }                  // LINE uncaught
HERE static void illegal() { __builtin_trap(); }                              // LINE illegal
HERE static void divides() { volatile int x = 1234 / zero; (void)x; }            // LINE divide
static char* volatile kept;
HERE static void frees_twice() { kept = (char*)malloc(100); free(kept); free(kept); }  // LINE double_free
HERE static void smashes() { char b[8]; memset(b, 'x', (size_t)(zero + 64));
  asm volatile("" ::"r"(b) : "memory"); }                                     // LINE smash
HERE static void bus() { FILE* f = tmpfile(); char* p = (char*)mmap(0, 4096, PROT_READ, MAP_SHARED,
  fileno(f), 0); volatile char c = p[0]; (void)c; }                           // LINE bus
HERE static int recurses(int n) { volatile char b[4096]; b[0] = (char)n; return recurses(n + 1) + b[0]; }  // LINE recursion
HERE static void returns_wild() { void** volatile frame = (void**)__builtin_frame_address(0);
  frame[1] = (void*)0x12345; }
HERE static void overwritten() { returns_wild(); asm volatile(""); }           // LINE wild_return
HERE static void kills() { kill(getpid(), SIGKILL); }                         // LINE killed
HERE static void terms() { raise(SIGTERM); }                                  // LINE term
HERE static void jumps_wild() { ((void (*)(void))((long)zero + 0x123456789000))(); }  // LINE wild_jump
HERE static void writes_constant() { *(volatile char*)(long)"constant" = 'x'; }  // LINE read_only
HERE static void runs_out() { rlimit most{1 << 28, 1 << 28}; setrlimit(RLIMIT_AS, &most);
  kept = new char[(size_t)1 << 30]; }                                         // LINE out_of_memory
HERE static void forbids() { sock_filter all[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program{4, all}; prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  getppid(); asm volatile(""); }                                              // LINE seccomp
HERE static void* forbids_in_thread(void*) { forbids(); return nullptr; }
HERE static void kills_all() { pthread_t t; pthread_create(&t, nullptr, forbids_in_thread, nullptr);
  pthread_join(t, nullptr); }
HERE static void* in_thread(void*) { *(volatile int*)zero; return nullptr; }     // LINE thread
HERE static void threads() { pthread_t t; pthread_create(&t, nullptr, in_thread, nullptr);
  pthread_join(t, nullptr); }
HERE static void handles(int) { *(volatile int*)zero; }                         // LINE handler
HERE static void handler() { signal(SIGUSR1, handles); raise(SIGUSR1); }
HERE static void in_child() { *(volatile int*)zero; }                           // LINE child
HERE static void forks() { if (fork() == 0) in_child(); int status; wait(&status); }
HERE static void traps() { asm volatile("int3"); }                              // LINE trap
HERE static void waits() { alarm(1); for (;;) zero = zero; }                     // LINE alarm
HERE static int spins(int ready) { if (write(ready, "x", 1) < 0) abort();
  for (int n = 1;; ++n) if (n % 3 == zero) zero = zero; }
HERE static void spun() { int ends[2]; char c; if (pipe(ends) != 0) return;
  pid_t child = fork();
  if (child == 0) spins(ends[1]);
  if (read(ends[0], &c, 1) < 0) abort();
  usleep(50000); kill(child, SIGKILL); int status; wait(&status); }
HERE static void pipes() { int ends[2]; if (pipe(ends) == 0) { close(ends[0]);
  if (write(ends[1], "x", 1) < 0) abort(); } }                                 // LINE pipe
int main(int, char** argv) {
  const char* how = argv[1];
  if (!strcmp(how, "wild_jump")) jumps_wild();
  if (!strcmp(how, "read_only")) writes_constant();
  if (!strcmp(how, "out_of_memory")) runs_out();
  if (!strcmp(how, "seccomp")) forbids();
  if (!strcmp(how, "thread")) threads();
  if (!strcmp(how, "handler")) handler();
  if (!strcmp(how, "child")) forks();
  if (!strcmp(how, "trap")) traps();
  if (!strcmp(how, "alarm")) waits();
  if (!strcmp(how, "pipe")) pipes();
  if (!strcmp(how, "spun")) spun();
  if (!strcmp(how, "null_read")) null_read();
  if (!strcmp(how, "null_call")) null_call();
  if (!strcmp(how, "overflow")) overflow(0);
  if (!strcmp(how, "abort")) aborts();
  if (!strcmp(how, "assertion")) asserts();
  if (!strcmp(how, "uncaught")) throws();
  if (!strcmp(how, "illegal")) illegal();
  if (!strcmp(how, "divide")) divides();
  if (!strcmp(how, "double_free")) frees_twice();
  if (!strcmp(how, "smash")) smashes();
  if (!strcmp(how, "bus")) bus();
  if (!strcmp(how, "killed")) kills();
  if (!strcmp(how, "term")) terms();
  if (!strcmp(how, "recursion")) recurses(0);
  if (!strcmp(how, "wild_return")) overwritten();
  if (!strcmp(how, "seccomp_thread")) kills_all();
  return 0;
}
"""
# How a program dies: the signal, and a function that has to be among the open calls.
KINDS = {
    "null_read": ("SIGSEGV", "null_read"), "null_call": ("SIGSEGV", "null_call"),
    "overflow": ("SIGSEGV", "overflow"), "abort": ("SIGABRT", "aborts"),
    "assertion": ("SIGABRT", "asserts"), "uncaught": ("SIGABRT", "throws"),
    "illegal": ("SIGILL", "illegal"), "divide": ("SIGFPE", "divides"),
    "double_free": ("SIGABRT", "frees_twice"), "smash": ("SIGABRT", "smashes"),
    "wild_jump": ("SIGSEGV", "jumps_wild"), "read_only": ("SIGSEGV", "writes_constant"),
    "out_of_memory": ("SIGABRT", "runs_out"), "seccomp": ("SIGSYS", "forbids"),
    "thread": ("SIGSEGV", "in_thread"), "handler": ("SIGSEGV", "handles"), "child": ("SIGSEGV", "in_child"),
    "trap": ("SIGTRAP", "traps"), "alarm": ("SIGALRM", "waits"), "pipe": ("SIGPIPE", "pipes"),
    "recursion": ("SIGSEGV", "recurses"), "wild_return": ("SIGSEGV", "overwritten"),
    "seccomp_thread": ("SIGSYS", "forbids"), "spun": ("SIGKILL", "spins"), "bus": ("SIGBUS", "bus"), "term": ("SIGTERM", "terms"), "killed": ("SIGKILL", "kills"),
}

# What stands where it died, if that is an instruction of the program's own; none where no code is.
INSTRUCTIONS = {
    "null_read": "mov", "read_only": "mov byte", "thread": "mov", "handler": "mov", "child": "mov", "bus": "mov",
    "illegal": "ud2", "divide": "idiv", "trap": "int3", "null_call": None, "wild_jump": None, "wild_return": None,
}

PARSE = r"""
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) static int digit(char c) { return c - '0'; }
__attribute__((noinline)) static int letter(char c) { return c - 'a' + 10; }
__attribute__((noinline)) static int parse(const char* text) {
  int sum = 0;
  for (; *text; ++text) {
    if (*text >= 'a')                /* LINE parts */
      sum += letter(*text);
    else
      sum += digit(*text);           /* <b>no markup</b> */
  }
  return sum;
}
int main(int argc, char** argv) {
  int total = 0;
  for (int i = 1; i < argc; ++i) total += parse(argv[i]);
  return total == 0;
}
"""


class Failed(Exception):
    pass


class Case:
    def __init__(self, args, work):
        self.args, self.work = args, work

    def path(self, name):
        return os.path.join(self.work, name)

    def hodo(self, *words, status=0, env=None):
        done = subprocess.run([self.args.hodo, *words], capture_output=True, text=True, env=env,
                              errors="replace", cwd=self.work, check=False)
        if status is not None and done.returncode != status:
            raise Failed(f"hodo {' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def json(self, *words, status=0):
        return json.loads(self.hodo(*words, "--json", status=status).stdout)

    def record(self, name, *command, source="dbi", options=()):
        data = self.path(name)
        done = self.hodo("record", "--source", source, *options, "-o", data, "--", *command, status=None)
        if not os.path.exists(data):
            print(f"skipped: {source} does not record here: {done.stderr.strip()}")
            sys.exit(77)
        return data

    def program(self, name, source, *flags, compiler=None):
        cxx = "memory" not in name and "class" in source or "<cstdio>" in source or "throw " in source
        path = self.path(name + (".cc" if cxx else ".c"))
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        out = self.path(name)
        compiler = compiler or ("g++" if cxx else "gcc")
        subprocess.run([compiler, "-g", *flags, path, "-o", out], check=True)
        return out

    def branches(self, data):
        lines = self.hodo("branches", "--format", "jsonl", data, status=None).stdout.splitlines()
        return [json.loads(line) for line in lines]


def check(condition, what):
    if not condition:
        raise Failed(what)


def line_of(source, mark):
    for number, line in enumerate(source.splitlines(), 1):
        if line.rstrip(" */").endswith("LINE " + mark):
            return number
    raise KeyError(mark)


def moments(case, program, source, *options):
    pt = source in ("dbi", "qemu")
    program = os.path.join(case.args.programs, program)
    options = [*(("--psb-period", "2048") if pt else ()), *(word.format(program=program) for word in options)]
    data = case.record("a.data", program, source=source, options=options)
    # What is lost is lost in both: code made at run time that the recording does not have.
    if source == "dbi" and "--snapshot" not in options:
        case.hodo("stats", data)
    # With an index, also of few segments.
    check_moments(case, data, ([], ["1"], [str(1 << 20)]) if pt else ([], ))


def check_moments(case, data, spacings):
    for spacing in spacings:
        done = subprocess.run([case.args.moments, data, "60", "7", *spacing], capture_output=True, text=True,
                              check=False)
        check(done.returncode == 0, done.stdout + done.stderr)
        print(done.stdout.strip())


LONG = r"""
#include <stdint.h>
static uint64_t state = 88172645463325252u;
static int up(void) { return 3; }
static int down(void) { return -2; }
static int (*const volatile steps[])(void) = {up, down};  /* of calls through pointers a trace is full soonest */
__attribute__((noinline)) static int step(void) {
  state ^= state << 13; state ^= state >> 7; state ^= state << 17;
  return steps[state & 1]();
}
__attribute__((noinline)) static int walk(int n) {
  int at = 0;
  while (n-- > 0) at += step();
  return at;
}
int main(void) {
  int sum = 0;
  for (int i = 0; i < 140; ++i) sum += walk(i * 112);
  return sum == 1;
}
"""


def case_index(case):
    """Of a long recording the answers are the same with an index: made, kept, spoilt, cut off."""
    data = case.record("long.data", case.program("long", LONG, "-O1"))
    check(os.path.getsize(data) > (4 << 20), "long enough for an index")
    home = case.path("cache")
    os.mkdir(home, 0o700)
    env = {**os.environ, "XDG_CACHE_HOME": home}
    folder = os.path.join(home, "hodoscope", "recordings")

    def answers(*options, lists=False):
        out = []
        for moment in ("end", f"{tid}:1000000", f"time:{middle}"):
            scene = json.loads(case.hodo("show", moment, data, "--json", *options, env=env).stdout)
            out.append(scene)
        for command in (["list", "walk", "--json"], ["branches", "--call", "walk#5"],
                        ["calls", "--from", f"{tid}:900000", "--to", f"{tid}:901000"], ["crash"]) if lists else ():
            out.append(case.hodo(*command, data, *options, env=env).stdout)
        return out

    end = json.loads(case.hodo("show", "end", data, "--json", "--no-index", env=env).stdout)
    check(not os.path.exists(folder), "--no-index makes none")
    tid = end["tid"]
    first = json.loads(case.hodo("show", "start", data, "--json", "--no-index", env=env).stdout)
    middle = (end["time"] + (first["time"] or end["time"])) // 2
    check(answers(lists=True) == answers("--no-index", lists=True), "an index that was just made")
    plain = answers("--no-index")
    paths = [os.path.join(folder, name) for name in os.listdir(folder)]
    _, path, rows = sorted(paths, key=lambda one: os.stat(one).st_mtime_ns)
    check(sum(map(os.path.getsize, paths)) < os.path.getsize(data) / 10 + (1 << 20), "its size")
    made = os.stat(path).st_ino, os.stat(path).st_mtime_ns
    check(answers() == plain, "an index that was kept")
    check((os.stat(path).st_ino, os.stat(path).st_mtime_ns) == made, "it was not made anew")
    kept = os.stat(rows).st_ino, os.stat(rows).st_mtime_ns
    check(answers(lists=True) == answers("--no-index", lists=True), "rows that were kept")
    check((os.stat(rows).st_ino, os.stat(rows).st_mtime_ns) == kept, "they were not made anew")
    for one in paths:
        with open(one, "r+b") as file:
            file.seek(os.path.getsize(one) // 2)
            file.write(b"spoilt")
    check(answers(lists=True) == answers("--no-index", lists=True), "an index that is damaged")
    check(os.stat(rows).st_ino != kept[0], "rows were made anew")
    check(os.stat(path).st_ino != made[0], "it was made anew")
    os.truncate(path, os.path.getsize(path) // 2)
    check(answers() == plain, "an index that is cut off")
    os.utime(data)
    check(answers() == plain and len(os.listdir(folder)) == 6, "of another recording")


def case_show(case):
    """What `hodo show` says is what `hodo branches` lists there, and every way to write a moment."""
    data = case.record("a.data", case.program("parse", PARSE, "-O1"), "12a", "7", "b")
    listed = case.branches(data)
    tid = listed[0]["tid"]
    for number in (1, len(listed) // 2, len(listed) - 1):
        scene = case.json("show", f"{tid}:{number}", data)
        for branch, want in ((scene["before"][-1], listed[number - 1]),
                             (scene["after"][0], listed[number])):
            got = {side: branch[side]["address"] for side in ("from", "to") if branch[side]}
            check(got == {s: want[s] for s in ("from", "to") if s in want}, f"{number}: {branch} {want}")
            check(branch["kind"] == want["kind"], f"{number}: {branch} {want}")
        check(scene["time"] == listed[number - 1]["time"], "time")
    third = case.json("show", "call:parse#3", data)
    check([call["function"] for call in third["calls"]][:2] == ["parse", "main"], third["calls"])
    check(third["stands_at"]["function"] == "parse" and third["stands_at"]["offset"] == 0, third)
    letter = case.json("show", "call:letter#2", data)
    check(letter["moment"] == case.json("show", third["moment"], data, "--next", "letter")["moment"],
          "--next")
    parts = line_of(PARSE, "parts")
    lines = [case.json("show", f"line:parse.c:{parts}#{n}", data) for n in (1, 2, 5)]
    check(all(scene["stands_at"]["line"] == parts for scene in lines), lines)
    out = case.json("show", letter["moment"], data, "--step", "out")
    check(out["stands_at"]["function"] == "parse", out)
    back = case.json("show", out["moment"], data, "--step=-insn", "--step=insn")
    check(back["moment"] == out["moment"], "back and forth")
    called = case.json("show", letter["moment"], data, "--step=-out")
    check(called["instruction"].startswith("call"), called)
    check(case.json("show", f"time:{out['time']}", data)["time"] == out["time"], "time:")
    check(case.json("show", "end", data)["after"][-1]["number"] == len(listed), "end")
    for words, says in ((("call:prase", ), "'parse'"), (("call:parse#4", ), "only 3"),
                        (("line:parse.c:1", ), "nearest line is"), ((f"{tid}:99999999", ), "branches"),
                        (("1:1", ), str(tid)), (("crash", ), "no process"), (("what", ), "THREAD:BRANCH"),
                        (("line:pars.c:3", ), "'parse.c'"), (("call:nothing!parse", ), "no call")):
        done = case.hodo("show", *words, data, status=2)
        check(says in done.stderr, done.stderr)
    for moment, step, says in (("end", "out", "none behind"), ("start", "-insn", "none before")):
        done = case.hodo("show", moment, f"--step={step}", data, status=2)
        check(f"the thread's path has {says}" in done.stderr, done.stderr)


def case_split_debug_information(case):
    """Lines of a program whose debug information lies in another file are known, and that a file is gone is said."""
    program = case.program("parse", PARSE, "-O1", "-gsplit-dwarf")
    data = case.record("a.data", program, "12a")
    at = case.json("show", "call:parse", data)["calls"][0]["at"]
    check(PARSE.splitlines()[at["line"] - 1].endswith("parse(const char* text) {"), at)
    os.unlink(program)
    for words in (("list", "parse"), ("show", "call:parse#2"), ("coverage", "--function", "parse"),
                  ("show", "end", "--previous", "parse"), ("annotate", "parse")):
        said = case.hodo(*words, data, status=2).stderr
        check("lost (file-missing)" in said, said)


GOROUTINE = r"""
/* What Go's scheduler does to begin a goroutine. */
__asm__(".text\n.type runtime.gogo.abi0,@function\nruntime.gogo.abi0: jmp gogo\n.size runtime.gogo.abi0,.-runtime.gogo.abi0\n"
        ".type gogo,@function\ngogo: jmp *%rdi\n.size gogo,.-gogo\n");
void gogo(void (*first)(void)) __asm__("runtime.gogo.abi0");
void schedule(void (*first)(void)) __asm__("runtime.schedule");
volatile int sink;
__attribute__((noinline)) void inner(void) { ++sink; }
__attribute__((noinline)) void goroutine(void) { inner(); inner(); }
__attribute__((noinline)) void schedule(void (*first)(void)) { gogo(first); ++sink; }
int main(void) { schedule(goroutine); inner(); return 0; }
"""


def case_goroutine(case):
    """A goroutine's open calls end with its first function, as its stack does."""
    data = case.record("a.data", case.program("goroutine", GOROUTINE, "-O1", "-fno-optimize-sibling-calls"))
    for moment, want in (("call:inner#1", ["inner", "goroutine"]), ("call:goroutine#1", ["goroutine"]),
                         ("call:runtime.schedule#1", ["runtime.schedule", "main"]), ("call:inner#3", ["inner", "main"])):
        calls = [call["function"] for call in case.json("show", moment, data)["calls"]]
        check(calls[:2] == want if len(want) == 2 and want[1] == "main" else calls == want, f"{moment}: {calls}")


COROUTINES = r"""
#include <stdlib.h>
/* Goes on where `to` was left; here once somebody does the same with what was put to `from`. By a return, or a jump. */
#define SWITCH(name, go) \
  void name(void** from, void* to); \
  __asm__(".text\n.type " #name ",@function\n" #name ": push %rbp\npush %rbx\npush %r12\nmov %rsp,(%rdi)\nmov %rsi,%rsp\n" \
          "pop %r12\npop %rbx\npop %rbp\n" go "\n.size " #name ",.-" #name "\n")
SWITCH(by_return, "ret");
SWITCH(by_jump, "pop %rcx\njmp *%rcx");
static void *made, *mine;
static int given;
static void (*change)(void**, void*);
__attribute__((noinline)) void gives(void) { for (int i = 0;; ++i) { given = i; change(&made, mine); } }
__attribute__((noinline)) int takes(int n) { int sum = 0; while (n-- > 0) { change(&mine, made); sum += given; } return sum; }
int main(int argc, char** argv) {
  void** stack = (void**)malloc(65536) + 8000;
  change = argc > 1 ? by_jump : by_return;
  stack[3] = (void*)gives;
  made = stack;
  return takes(20) + takes(20) == 780 ? 0 : 1;
}
"""


def case_coroutines(case):
    """Where a coroutine goes on no call of it begins."""
    program = case.program("coroutines", COROUTINES, "-O1", "-fno-optimize-sibling-calls")
    for name, arguments in (("by_return", ()), ("by_jump", ("jump", ))):
        data = case.record(name + ".data", program, *arguments, options=("--psb-period", "2048"))
        check_moments(case, data, ([], ["1"]))
        for index in ((), ("--no-index", )):
            for function, count in (("gives", 1), ("takes", 2), ("main", 1), (name, 80)):
                listed = case.json("list", function, data, *index)["calls"]
                check(len(listed) == count, f"{name} {index} {function}: {len(listed)}")
                for call in listed[:2]:
                    written = f"call:{function}#{call['number']}"
                    check(case.json("show", written, data, *index)["moment"] == call["moment"], written)


WAITS = r"""
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int held, spun, yielded, sink;
static void* works(void* us) {
  pthread_mutex_lock(&lock);
  held = 1;
  usleep((useconds_t)(long)us);
  pthread_mutex_unlock(&lock);
  usleep((useconds_t)(long)us / 4);
  spun = 1;
  usleep((useconds_t)(long)us / 4);
  yielded = 1;
  usleep((useconds_t)(long)us);
  return 0;
}
__attribute__((noinline)) static void locks(void) { pthread_mutex_lock(&lock); ++sink; pthread_mutex_unlock(&lock); }
__attribute__((noinline)) static void spins(void) { do { __builtin_ia32_pause(); } while (!spun); }
__attribute__((noinline)) static void yields(void) { do { sched_yield(); } while (!yielded); }
__attribute__((noinline)) static void decides(const char* how) {
  if (*how == 'l') locks();                                    /* LINE locks */
  if (*how == 's') usleep(1);                                  /* LINE sleeps */
  for (const char* at = how; *at == 'n'; ++at) ++sink;         /* LINE counts */
}
int main(int argc, char** argv) {
  const long mine = (*argv[1] - 'a') * 90000L;  /* a: at once, b: later */
  pthread_t thread;
  pthread_create(&thread, 0, works, (void*)((*argv[2] - 'a') * 90000L));
  do { __builtin_ia32_pause(); } while (!held);
  usleep((useconds_t)mine);
  locks();
  usleep((useconds_t)mine);
  spins();
  usleep((useconds_t)mine);
  yields();
  usleep((useconds_t)mine);
  pthread_join(thread, 0);
  decides(argv[3]);
  return 0;
}
"""


def case_waits(case):
    """Where one run waited for another thread is told apart from where they part."""
    program = case.program("waits", WAITS, "-O1", "-pthread", "-fno-optimize-sibling-calls")

    def record(name, *arguments):
        return case.record(name + ".data", program, *arguments)

    # The thread has done all long before it is asked for, or long after.
    late = record("late", "b", "a", "x")
    early = record("early", "a", "b", "x")
    (main, *_) = case.json("diff", late, early, status=1)["paths"]
    check(not main["partings"] and not main["equal"] and "first" not in main, main)
    places = {wait["at"]["function"] for wait in main["waits"]}
    # What pthread_join calls has no name where the C library's debug symbols are not installed.
    check(any("join" in place or place.startswith("sub_") for place in places), places)
    check(any("lock" in place for place in places), places)
    text = case.hodo("diff", late, early, status=1).stdout
    check("the same path but for how long it waited" in text and "waited for other threads where the other did not" in text, text)
    check("waited for other threads" in case.hodo("diff", late, early, "--format", "html", status=1).stdout, "html")
    # What a run decides to do is no wait.
    for how, line in (("l", "locks"), ("s", "sleeps"), ("n", "counts")):
        for other in (record("other" + how, "a", "b", how), record("same" + how, "b", "a", how)):
            (main, *_) = case.json("diff", late, other, status=1)["paths"]
            first = main["first"]["a"]["at"]
            check(first["function"] == "decides" and first["line"] == line_of(WAITS, line), f"{how}: {first}")


TWO_THREADS = r"""
#include <pthread.h>
volatile int sink;
__attribute__((noinline)) static void odd(int n) { if (n & 1) ++sink; }  /* LINE odd */
static void* other(void* unused) { odd(1); return unused; }
int main(void) { pthread_t t; pthread_create(&t, 0, other, 0); return pthread_join(t, 0); }
"""


def _one_thread_calls(case):
    """What one thread never called is said of that thread, not of the recording."""
    data = case.record("two.data", case.program("two", TWO_THREADS, "-O1", "-pthread"))
    call = case.json("list", "odd", data)["calls"][0]
    first = str(case.branches(data)[0]["tid"])
    check(call["moment"].split(":")[0] != first, call)
    for words in (["show", "start", "--next", "odd"], ["list", "odd", "--thread", first],
                  ["branches", "--function", "odd", "--thread", first]):
        told = case.hodo(*words, data, status=2).stderr
        check(f"no call of a function 'odd' is in thread {first}" in told, f"{words}: {told}")
    check("--pid" in case.hodo("list", "odd", "--pid", "-5", data, status=2).stderr, "a negative process")


def case_numbers_of_what_is_left(case):
    """Of a call by its number says each command what was lost in other threads: it may be another one's number."""
    both = TWO_THREADS.replace("{ pthread_t t;", "{ odd(3); pthread_t t;")
    data = case.record("a.data", case.program("two", both, "-O1", "-pthread"), options=("--psb-period", "2048"))
    calls = [call["moment"] for call in case.json("list", "odd", data)["calls"]]
    check(len(calls) == 2, calls)
    with open(data, "rb") as file:
        whole = file.read()
    for at in range(len(whole) // 4, len(whole), 64):
        with open(data, "wb") as file:
            file.write(whole[:at] + bytes([whole[at] ^ 0xff]) + whole[at + 1:])
        done = case.hodo("list", "odd", data, "--json", status=None)
        if done.returncode == 3 and [call["moment"] for call in json.loads(done.stdout)["calls"]] == calls[1:]:
            break
    else:
        raise Failed("no byte that costs the first call alone")
    for index in ([], ["--no-index"]):
        for words in (["show", "call:odd#1"], ["show", "line:two.c:%d#1" % (line_of(both, "odd"))],
                      ["branches", "--call", "odd#1"], ["calls", "--from", "call:odd#1"]):
            told = case.hodo(*words, data, *index, status=3).stderr
            check("lost: " in told, f"{words}: {told}")
    check(case.json("show", "call:odd#1", data, status=3)["losses"], "in JSON")


def case_list(case):
    data = case.record("a.data", case.program("parse", PARSE, "-O1"), "12a", "7", "b")
    calls = case.json("list", "parse", data)
    check([c["outcome"] for c in calls["calls"]] == ["returned"] * 3, calls)
    check([c["caller"] for c in calls["calls"]] == ["main"] * 3, calls)
    most = case.json("list", "parse", data, "--sort", "instructions", "--top", "1")["calls"]
    check(len(most) == 1 and most[0]["number"] == 1, most)
    for order in ("order", "duration", "instructions"):
        every = case.json("list", "parse", data, "--sort", order, "--top", "0")
        check(every["left_out"] == 0, every)
        for top in (1, 2):
            some = case.json("list", "parse", data, "--sort", order, "--top", str(top))
            check(some["calls"] == every["calls"][:top] and some["left_out"] == 3 - top, some)
            check(f"3 calls, {top} shown" in case.hodo("list", "parse", data, "--top", str(top)).stdout, "shown")
    for call in calls["calls"]:
        scene = case.json("show", call["moment"], data)
        check(scene["stands_at"]["function"] == "parse", scene)
        check(case.json("show", f"call:parse#{call['number']}", data)["moment"] == call["moment"], call)
    check(case.json("list", "parse", data, "--slower-than", "1000s")["calls"] == [], "--slower-than")
    check("'parse'" in case.hodo("list", "prase", data, status=2).stderr, "suggestion")
    for command, argument in (("list", "FUNCTION"), ("annotate", "FUNCTION"), ("show", "MOMENT")):
        told = case.hodo(command, data, status=2).stderr
        check(f"'{data}' was taken for the {argument}, it is a file: 'hodo {command} {argument} {data}' asks it" in told,
              told)
    _one_thread_calls(case)


def case_long_list(case):
    """A list of many calls is written as it comes."""
    text = ("static volatile long sum;\n__attribute__((noinline)) static void leaf(long i) { sum += i; }\n"
            "int main(void) { for (long i = 0; i < 200000; ++i) leaf(i); return 0; }\n")
    data = case.record("long.data", case.program("many", text, "-O1"))
    for more in (["--json"], []):
        with open(os.path.join(case.work, "list"), "w+b") as out:
            started = subprocess.Popen([case.args.hodo, "list", "leaf", data, "--top", "0", *more], stdout=out,
                                       cwd=case.work)
            _, status, used = os.wait4(started.pid, 0)
            started.returncode = status
            out.seek(0)
            rows = sum(1 for line in out if b"returned" in line)
        check(status == 0 and rows == 200000, f"{rows} rows, status {status}")
        check(used.ru_maxrss < 200 << 10, f"{used.ru_maxrss} KB for {more}")


def case_windows(case):
    data = case.record("a.data", case.program("parse", PARSE, "-O1"), "12a", "7", "b")
    listed = case.branches(data)
    tid = listed[0]["tid"]

    def window(*words):
        out = case.hodo("branches", "--format", "jsonl", data, *words).stdout.splitlines()
        return [json.loads(line) for line in out]

    check(window("--from", f"{tid}:10", "--to", f"{tid}:20") == listed[10:20], "--from --to")
    check(window("--last", "7") == listed[-7:], "--last")
    check(window("--at", f"{tid}:100", "--around", "5") == listed[95:105], "--around")
    times = [b["time"] for b in listed]
    middle = times[len(times) // 2]
    check(window("--from", f"time:{middle}") == [b for b in listed if b["time"] >= middle], "time")
    calls = case.json("list", "parse", data)["calls"]
    inside = window("--function", "parse")
    want = [b for call in calls for b in
            listed[int(call["moment"].split(":")[1]) - 1:int(call["until"].split(":")[1])]]
    check(inside == want, "--function")
    check(window("--thread", str(tid)) == listed, "--thread")
    for module, says in (("nothing", "what ran is '"), ("prase", "did you mean 'parse'?"),
                         ("libd.so.6", "did you mean 'libc'"), ("/lib/nowhere/lbc.so", "did you mean 'libc'")):
        told = case.hodo("coverage", data, "--module", module, status=2).stderr
        check(f"no code of a module '{module}' ran" in told and says in told, told)
    for command in ("branches", "calls", "coverage", "report", "check", "stats"):
        for nobody in ("--thread", "--process"):
            told = case.hodo(command, data, nobody, "1", status=2).stderr
            check("'hodo report' lists those that are" in told and "makes one" not in told, told)
    check(all("parse" in line for line in case.hodo(
        "branches", data, "--module", case.path("parse")).stdout.splitlines()), "--module")
    part = case.json("report", data, "--from", calls[0]["moment"], "--to", calls[0]["until"])
    check(part["instructions"] == calls[0]["instructions"] if "instructions" in part else True, part)
    covered = case.hodo("coverage", data, "--from", calls[1]["moment"], "--to", calls[1]["until"]).stdout
    check("digit" in covered and "letter" not in covered, covered)
    tree = case.hodo("calls", data, "--function", "parse", "--min-percent", "0").stdout
    check("letter" in tree and "_dl_" not in tree, tree)
    case.hodo("check", data, "--from", calls[1]["moment"])
    for words in (("--around", "3"), ("--last", "3", "--at", "crash"), ("--from", "x"),
                  ("--from", "end", "--to", "start"), ("--at", "1:5"), ("--from", "q7:5"), ("--function", "prase"), ("--module", "nothing")):
        case.hodo("branches", data, *words, status=2)


def case_crash(case):
    program = case.program("deaths", DEATHS, "-O1", "-fstack-protector-all", "-U_FORTIFY_SOURCE",
                           "-fno-optimize-sibling-calls", "-Wno-stringop-overflow", "-Wno-int-to-pointer-cast")
    for kind, (name, function) in KINDS.items():
        data = case.record(kind + ".data", program, kind)
        crash = case.json("crash", data, status=None)["processes"][0]
        check(crash.get("signal") == getattr(signal, name), f"{kind}: {crash['ended']}")
        check(crash["threads"], f"{kind}: no thread")
        calls = crash["threads"][0]["calls"]
        names = [call["function"].split("(")[0] for call in calls]
        check(any(n == function or n.startswith(function + ".") for n in names), f"{kind}: {names}")
        if kind == "overflow":
            left = crash["threads"][0]["calls_left_out"]
            check(len(names) == 2000 and left["behind"] == 1750 and left["count"] > 1000 and "main" in names, f"{len(names)} calls, {left}")
            told = case.hodo("crash", data, status=None).stdout
            check(f"  {left['count'] + 1936:,} calls between are left out" in told and " main " in told, told[:8000])
            continue
        if kind == "spun":
            told = case.hodo("crash", data, status=3).stdout
            check("what it did from here to its end" in told and "stands at    nowhere" not in told, told)
            continue
        mine = next(c for c in calls if c["function"].split("(")[0].split(".")[0] == function)
        want = line_of(DEATHS, kind.removesuffix("_thread"))
        check(crash["threads"][0].get("goes_round", False) == (kind in ("recursion", "alarm")), f"{kind}: {crash['threads'][0]}")
        check(mine["at"] and mine["at"].get("line") == want, f"{kind}: {mine['at']}, not line {want}")
        if kind in INSTRUCTIONS:
            stands = crash["threads"][0].get("instruction")
            good = (stands or "(unknown code)").startswith(INSTRUCTIONS[kind] or "(unknown code)")
            check(good, f"{kind}: stands at '{stands}'")
        if kind == "abort":
            told = case.hodo("show", "crash:1", data, status=2).stderr
            check(f"no process 1 was ended by a signal; there is crash:{crash['pid']}" in told, told)
        if kind in ("child", "null_call"):
            check("main" in names, f"{kind}: {names}")
        if kind == "null_call":
            told = case.hodo("crash", data, status=None).stdout
            check("stands at    0, where there is no code" in told, told)
        if kind == "recursion":
            check("cannot say how often" in case.hodo("crash", data, status=None).stdout, "not said")
        if kind not in ("null_call", "killed", "thread"):
            continue
        text = case.hodo("crash", data, status=None).stdout
        check("Open calls" in text and crash["ended"] in text, text)
    data = case.path("abort.data")
    source = program + ".cc"
    check(" is newer than" not in case.hodo("crash", data, status=None).stdout, "newer without a change")
    later = os.stat(program).st_mtime + 10
    os.utime(source, (later, later))
    for words in (("annotate", "main"), ("show", f"line:deaths.cc:{line_of(DEATHS, 'abort')}")):
        told = case.hodo(*words, data, status=None).stdout
        check(f"{source} is newer than deaths: its lines may be others now" in told, told)
    shown = case.json("show", f"line:deaths.cc:{line_of(DEATHS, 'abort')}", data, status=None)
    check(shown["source"]["newer"], f"{shown['source']}")


FAULTS = r"""
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static const int fixed = 1;
int main(int argc, char** argv) {
  const char* kind = argv[1];
  unsigned char* page = mmap((void*)0x500000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void (*code)(void) = (void (*)(void))page;
  if (!strcmp(kind, "read")) return *(volatile int*)(0x10L * (argc - 1));
  if (!strcmp(kind, "write")) *(volatile int*)&fixed = argc;
  if (!strcmp(kind, "execute")) code();
  if (!strcmp(kind, "beyond")) return *(volatile int*)mmap((void*)0x600000000, 4096, PROT_READ, MAP_PRIVATE, memfd_create("empty", 0), 0);
  if (!strcmp(kind, "raise")) raise(SIGSEGV);
  if (!strcmp(kind, "protection")) return *(volatile int*)((long)argc << 60);
  page[0] = 0xc3;  /* ret */
  mprotect(page, 4096, PROT_READ | PROT_EXEC);
  code();
  munmap(page, 4096);
  code();
}
"""


def case_faults(case):
    """Which access to memory killed a process, as far as one did."""
    program = case.program("faults", FAULTS, "-O1", "-D_GNU_SOURCE")
    for kind, (fault, words) in {
            "read": (("read", 0x10, False), "reading 0x10: nothing is mapped there"),
            "write": (("write", None, True), "it may not"),
            "execute": (("execute", 0x500000000, True), "executing 0x500000000: it may not"),
            "unmapped": (("execute", 0x500000000, False), "executing 0x500000000: nothing is mapped there"),
            "beyond": (("read", 0x600000000, True), "reading 0x600000000: no memory is behind that mapping"),
            "raise": (None, ""), "protection": (None, "")}.items():
        data = case.record(kind + ".data", program, kind)
        ended = case.json("crash", data)["processes"][0]
        found = ended.get("fault")
        if fault is None:
            check(found is None and ended["ended"].endswith(f"in thread {ended['tid']}"), f"{kind}: {ended['ended']}, {found}")
            continue
        access, address, mapped = fault
        check(found and (found["access"], found["mapped"]) == (access, mapped), f"{kind}: {found}")
        check(address is None or int(found["address"], 16) == address, f"{kind}: {found}")
        check(words in ended["ended"] and ended["ended"] in case.hodo("crash", data).stdout, f"{kind}: {ended['ended']}")


FAILURES = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#define HERE __attribute__((noinline))
static volatile int zero = 0;
HERE static void* spins(void*) { for (long n = 1;; ++n) if (n % 3 == zero) zero = zero; }
HERE static void* waits(void*) { pause(); return nullptr; }
HERE static void* calls(void*) { for (;;) if (read(-1, nullptr, 0) == zero) zero = zero; }  // until the end, and later than who ends it
HERE static void* gives_up(void*) { usleep(20000); exit(zero + 3); }             // LINE gives_up
HERE static void raises() { throw std::runtime_error("x"); }                     // LINE raises
HERE static int reports() { try { throw 1; } catch (int) { } return zero; }  // as a runtime may that tells of one
HERE static int catches() { try { raises(); } catch (const std::exception&) { return 4 + reports(); } return 0; }
HERE static int first() { try { raises(); } catch (const std::exception&) { } return zero; }
static void start(void* (*what)(void*)) { pthread_t t; pthread_create(&t, nullptr, what, nullptr); }
int main(int, char** argv) {
  if (!strcmp(argv[1], "thread")) { start(spins); start(waits); for (int i = 0; i < 4; ++i) start(calls); start(gives_up); pause(); }
  if (!strcmp(argv[1], "stepped")) { for (int i = 0; i < 3; ++i) start(waits); start(gives_up); pause(); }
  if (!strcmp(argv[1], "caught")) return first() + catches();
  if (!strcmp(argv[1], "good")) return first();
  if (fork() == 0) _exit(5);
  int status;
  wait(&status);
  return 6;
}
"""


def case_failures(case):
    """Of a process that exited with another status than 0: which thread called for it, and what it threw last."""
    program = case.program("failures", FAILURES, "-O1", "-pthread", "-fno-optimize-sibling-calls")

    def names(scene):
        return [call["function"].split("(")[0] for call in scene["calls"]]

    def ends(kind, source="dbi"):
        data = case.record(kind + ".data", program, kind, source=source)
        return data, case.json("crash", data, status=None)["processes"]

    _, (ended, ) = ends("stepped", source="step")
    check("gives_up" in names(ended["threads"][0]), names(ended["threads"][0]))

    data, (ended, ) = ends("thread")
    (last, ) = ended["threads"]
    check(ended["exit_status"] == 3 and "last_exception" not in ended, ended)
    check({"_exit", "exit", "gives_up"} <= set(names(last)) and last["instruction"] == "syscall", names(last))
    mine = next(c for c in last["calls"] if c["function"].startswith("gives_up"))
    check(mine["at"]["line"] == line_of(FAILURES, "gives_up"), mine)
    check(case.json("show", "crash", data)["moment"] == last["moment"], "crash")
    check("gives_up" in case.hodo("crash", data, status=None).stdout, "text")
    told = case.hodo("show", "crash:1", data, status=2).stderr
    check(f"no process 1 was ended by a signal; there is crash:{ended['pid']}" in told, told)

    data, (ended, ) = ends("caught")
    raised = ended["last_exception"]
    check(ended["exit_status"] == 4 and "main" not in names(ended["threads"][0]), ended["threads"])
    check(names(raised)[:5] == ["_Unwind_RaiseException", "__cxa_throw", "raises", "catches", "main"], names(raised))
    text = case.hodo("crash", data, status=None).stdout
    check(f"Exception that it raised, at {raised['moment']}" in text, text)
    check(case.json("crash", data, "--no-index", status=None)["processes"][0] == ended, "without an index")

    data, (ended, ) = ends("good")
    check(ended["exit_status"] == 0 and not ended["threads"] and "last_exception" not in ended, ended)
    told = case.hodo("crash", data).stdout
    check("no process died of a signal or exited with another status than 0" in told, told)
    told = case.hodo("show", "crash", data, status=2).stderr
    check("was ended by a signal, nor exited with another status than 0" in told, told)

    data, both = ends("two")
    check(sorted(one["exit_status"] for one in both) == [5, 6] and all(one["threads"] for one in both), both)
    told = case.hodo("show", "crash", data, status=2).stderr
    check("several processes exited with another status than 0" in told and f"crash:{both[1]['pid']}" in told, told)


FORKS = r"""
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int zero;
static int wait_for(pid_t child) { int status; return waitpid(child, &status, 0) < 0 || status != 0; }
__attribute__((noinline)) static int ends(void) { zero = zero + 1; abort(); }
__attribute__((noinline)) static int forks(int generations) {
  pid_t child = fork();                                    /* LINE fork */
  if (child != 0) return wait_for(child);
  return generations > 1 ? forks(generations - 1) : -1;
}
__attribute__((noinline)) static int twice(int generations) {
  int mine = forks(generations) + zero;                    /* LINE twice */
  return mine < 0 ? ends() : mine;                         /* LINE ends */
}
__attribute__((noinline)) static int leaves(void) { int mine = forks(1) + zero; return mine; }
int main(int argc, char** argv) {
  int generations = atoi(argv[1]);
  if (generations == 0) return leaves() < 0 ? ends() : 0;  /* LINE left */
  return twice(generations);
}
"""


def case_forked(case):
    """A forked process has its parent's open calls, but for those that it has left."""
    program = case.program("forks", FORKS, "-O1", "-fno-optimize-sibling-calls", "-fno-inline")
    for generations, chain in (("0", ["ends", "main"]), ("1", ["ends", "twice", "main"]),
                               ("3", ["ends", "twice", "main"])):
        data = case.record(f"forks{generations}.data", program, generations)
        for index in ((), ("--no-index",)):
            processes = case.json("crash", data, *index, status=None)["processes"]
            crashed = [p for p in processes if "signal" in p]
            check(len(crashed) == 1, crashed)
            calls = crashed[0]["threads"][0]["calls"]
            names = [c["function"] for c in calls]
            first = names.index("ends")
            check(names[first:first + len(chain)] == chain and "_start" in names[-2:], f"{generations}: {names}")
            entered = dict(zip(names, (c["entered"] for c in calls)))
            check(int(entered["ends"].split(":")[0]) == crashed[0]["pid"], entered)
            check(int(entered["main"].split(":")[0]) == min(p["pid"] for p in processes), entered)
            scene = case.json("show", entered["main"], data)
            check(scene["stands_at"]["function"] == "main" and scene["stands_at"]["offset"] == 0, scene["stands_at"])
    # What runs between the fork and the first return.
    data = case.path("forks3.data")
    last = case.json("list", "forks", data)["calls"]
    names = [c["function"] for c in case.json("show", last[-1]["moment"], data)["calls"]]
    check(names[:2] == ["forks", "forks"] and "_start" in names[-2:], names)


UNWOUND = r"""
#define HERE __attribute__((noinline))
static volatile int zero;
HERE static void cleans(int) { zero = zero + 0; }
HERE static void catches(int) { zero = 0; }
struct Cleaned { int depth; ~Cleaned() { cleans(depth); } };
HERE static int recurses(int depth, int catcher) {
  Cleaned cleaned{depth};
  if (depth == 0) throw 7;
  if (depth == catcher) {
    try {
      return recurses(depth - 1, catcher) + zero;
    } catch (int) {
      catches(depth);
      return 1;
    }
  }
  return recurses(depth - 1, catcher) + 1;
}
int main() { return recurses(6, 3) + recurses(4, 4) == 0; }
"""


def case_unwound(case):
    """An exception lands in the call that it has come to, of several of one function: what that calls has its callers."""
    for flags in ("-O0", "-O2"):
        program = case.program("unwound" + flags, UNWOUND, flags)
        data = case.record(f"unwound{flags}.data", program)
        deep = lambda call: sum(  # noqa: E731
            c["function"] == "recurses(int, int)" for c in case.json("show", call["moment"], data)["calls"])
        cleans = [deep(c) for c in case.json("list", "cleans", data)["calls"]]
        check(cleans == [7, 6, 5, 4, 3, 2, 1, 5, 4, 3, 2, 1], f"{flags}: {cleans}")
        catches = [deep(c) for c in case.json("list", "catches", data)["calls"]]
        check(catches == [4, 1], f"{flags}: {catches}")
        calls = case.json("list", "recurses", data)["calls"]
        check(len(calls) == 12, calls)


INLINED = r"""
static inline __attribute__((always_inline)) int halves(int n) {
  return n / 2;                                            /* LINE halves */
}
int main(int argc, char** argv) { return halves(argc) + argv[0][0] == 0; }
"""


def case_inlined(case):
    """A call that was inlined is listed; where functions as a whole are meant it is said how to ask for one."""
    data = case.record("inlined.data", case.program("inlined", INLINED, "-O1"))
    listed = case.json("list", "halves", data)
    (call,) = listed["calls"]
    check(call["inlined"] and call["caller"] == "main" and call["outcome"] == "returned", call)
    check(call["line"].endswith(f"inlined.c:{line_of(INLINED, 'halves') + 2}"), call)
    check([f["name"] for f in listed["functions"]] == ["halves"], listed["functions"])
    check("returned, inlined" in case.hodo("list", "halves", data).stdout, "text")
    stands = case.json("show", "call:halves#1", data)["stands_at"]
    check(stands["function"] == "main" and stands["line"] == line_of(INLINED, "halves"), stands)
    told = case.hodo("show", "call:halves#2", data, status=None)
    check(told.returncode == 2 and "is only one" in told.stderr, told.stderr)
    hint = f"has inlined it (inlined.c:{line_of(INLINED, 'halves') - 1}): its lines"
    for words in (("annotate", "halves"), ("branches", "--function", "halves"), ("show", "return:halves#1")):
        done = case.hodo(*words, data, status=None)
        check(done.returncode != 0 and hint in done.stderr, f"{words}: {done.stderr}")
    line = case.json("show", f"line:inlined.c:{line_of(INLINED, 'halves')}", data)
    check(line["stands_at"]["function"] == "main", line["stands_at"])
    other = case.hodo("list", "halve", data, status=None).stderr
    check("compiler" not in other, other)


def case_inlined_split_off(case):
    """Of -gsplit-dwarf what was inlined is in a .dwo file: it is read there, and that it is missing is said."""
    for dwarf in ("-gdwarf-5", "-gdwarf-4"):
        program = case.program("inlined", INLINED, "-O1", dwarf, "-gsplit-dwarf")
        split, = (name for name in os.listdir(os.path.dirname(program)) if name.endswith(".dwo"))
        split = case.path(split)
        data = case.record("inlined.data", program)
        os.rename(split, split + ".away")
        told = case.hodo("list", "halves", data, status=2).stderr
        check(f"{os.path.basename(split)} is missing" in told, told)
        check(len(case.json("show", f"line:inlined.c:{line_of(INLINED, 'halves')}", data)["calls"][0].get("frames", [])) == 0, "frames")
        os.mkfifo(split)
        told = case.hodo("list", "halves", data, status=2).stderr
        check(f"{os.path.basename(split)} is missing" in told, told)
        os.rename(split + ".away", split)
        listed = case.json("list", "halves", data)
        (call,) = listed["calls"]
        check("unknown" not in listed, listed)
        check(call["inlined"] and call["line"].endswith(f"inlined.c:{line_of(INLINED, 'halves') + 2}"), call)
        frames = case.json("show", "call:halves", data)["calls"][0]["frames"]
        check([(f["function"], f["line"]) for f in frames] ==
              [("halves", line_of(INLINED, "halves")), ("main", line_of(INLINED, "halves") + 2)], frames)
        os.unlink(split)


def case_called_and_inlined_split_off(case):
    """Where calls are found, too, it is said that the .dwo file is missing which would tell of inlined ones."""
    called = INLINED.replace("halves(argc) +", "halves(argc) + pointer(argc) +").replace(
        "int main", "static int (*volatile pointer)(int) = halves;\nint main")
    program = case.program("called", called, "-O1", "-gsplit-dwarf")
    split, = (name for name in os.listdir(os.path.dirname(program)) if name.endswith(".dwo"))
    data = case.record("called.data", program)
    os.rename(case.path(split), case.path(split) + ".away")
    hint = f"{os.path.basename(split)} is missing"
    for _ in range(2):  # the second time what is kept is asked
        listed = case.json("list", "halves", data)
        check(listed["count"] == 1 and listed["unknown"].endswith(hint), listed)
        check(hint in case.hodo("list", "halves", data).stdout, "text")
    with open(program + ".dwp", "wb") as package:
        package.write(b"no package")
    told = case.hodo("list", "halves", data).stdout
    check(f"{os.path.basename(split)} (of which libdw " in told and "finds nothing in called.dwp) is missing" in told, told)
    os.unlink(program + ".dwp")
    os.rename(case.path(split) + ".away", case.path(split))
    listed = case.json("list", "halves", data)
    check(listed["count"] == 2 and "unknown" not in listed, listed)


IN_NAMESPACES = r"""
#include <cstdio>
static volatile int zero;
namespace shop {
static inline __attribute__((always_inline)) int halves(int n) { return n / 2 + zero; }
namespace {
struct Box {
  __attribute__((always_inline)) int thirds(int n) { return n / 3 + zero; }
};
}
int sum(int n) { return halves(n) + Box().thirds(n); }
}
namespace other {
static inline __attribute__((always_inline)) int halves(int n) { return n / 4 + zero; }
int sum(int n) { return halves(n) + halves(n + 1); }
}
int main(int argc, char**) { return shop::sum(argc) + other::sum(argc) < 0; }
"""


def case_inlined_in_namespaces(case):
    """Static functions have no linkage names: namespaces around them are known all the same."""
    for flags in (["-O1"], ["-O1", "-gsplit-dwarf"]):
        data = case.record("in_namespaces.data", case.program("in_namespaces", IN_NAMESPACES, *flags))
        for name, calls in (("shop::halves", 1), ("other::halves", 2)):
            listed = case.json("list", name, data)
            check(len(listed["calls"]) == calls, f"{name}: {listed}")
        check([f["name"] for f in case.json("list", "shop::halves", data)["functions"]] == ["shop::halves"], "its name")
        check(len(case.json("list", "shop::(anonymous namespace)::Box::thirds", data)["calls"]) == 1, "a member")
        told = case.hodo("list", "halves", data, status=2).stderr
        check("did you mean 'shop::halves'" in told or "did you mean 'other::halves'" in told, told)
        told = case.hodo("annotate", "other::halves", data, status=2).stderr
        check("has inlined it" in told, told)


NESTED = r"""
static volatile int zero;
static inline __attribute__((always_inline)) int halves(int n) {
  return n / 2 + zero;                                     /* LINE halves */
}
__attribute__((noinline)) int twice(int (*f)(int), int n) { return f(n) + f(n + 1); }
__attribute__((noinline)) int outer(int k) {
  int add(int n) { return halves(n) + k; }                 /* LINE add */
  return twice(add, k);
}
int main(int argc, char** argv) { return outer(argc) < 0; }
"""


IN_LAMBDAS = r"""
#include <cstdio>
static volatile int zero;
static inline __attribute__((always_inline)) int halves(int n) {
  return n / 2 + zero;                                     /* LINE halves */
}
int main(int argc, char**) {
  auto f = [&](int n) __attribute__((noinline)) { return halves(n) + argc; }; /* LINE lambda */
  struct Local { __attribute__((noinline)) int m(int n) { return halves(n) * 3; } }; /* LINE local */
  return f(3) + Local().m(5) < 0;
}
"""


def case_inlined_in_nested(case):
    """A function inside another one, as lambdas are, lies outside of its code, and what was inlined there is known."""
    data = case.record("lambdas.data", case.program("lambdas", IN_LAMBDAS, "-O1"))
    listed = case.json("list", "halves", data)["calls"]
    check([call["line"].rpartition(":")[2] for call in listed] == [str(line_of(IN_LAMBDAS, m)) for m in ("lambda", "local")], listed)
    for number, mark in ((1, "lambda"), (2, "local")):
        frames = case.json("show", f"call:halves#{number}", data)["calls"][0].get("frames", [])
        check([f["line"] for f in frames] == [line_of(IN_LAMBDAS, "halves"), line_of(IN_LAMBDAS, mark)], frames)
    data = case.record("nested.data", case.program("nested", NESTED, "-O1", "-Wl,-z,execstack"))
    calls = case.json("show", f"line:nested.c:{line_of(NESTED, 'halves')}", data)["calls"]
    told = [f["line"] for f in calls[0].get("frames", [])]
    check(told == [line_of(NESTED, "halves"), line_of(NESTED, "add")], calls[0])
    check(["frames" in call for call in calls if call["function"] in ("twice", "outer")] == [False, False], calls)


INLINED_DEATH = r"""
#include <stdlib.h>
#define INTO static inline __attribute__((always_inline))
INTO void gives_up(int n) {
  if (n > 0) abort();                                      /* LINE gives_up */
}
INTO void passes(int n) {
  gives_up(n);                                             /* LINE passes */
}
int main(int argc, char** argv) {
  passes(argc);                                            /* LINE main */
  return argv[0][0] == 0;
}
"""


def case_inlined_death(case):
    """An open call is at the lines of all that is inlined there, for programs, too."""
    data = case.record("inlined_death.data", case.program("inlined_death", INLINED_DEATH, "-O1"))
    calls = case.json("crash", data)["processes"][0]["threads"][0]["calls"]
    (main, ) = [call for call in calls if call["function"] == "main"]
    told = [(f["function"], f["file"].endswith("/inlined_death.c"), f["line"], f["inlined"]) for f in main["frames"]]
    check(told == [(name, True, line_of(INLINED_DEATH, name), name != "main") for name in ("gives_up", "passes", "main")], told)
    check(main["at"]["line"] == told[0][2], main["at"])
    check(all("frames" not in call for call in calls if call["function"] in ("abort", "_start")), calls)


MIXED = r"""
static volatile int zero;
static inline __attribute__((always_inline)) int halves(int n) { return n / 2 + zero; }
static inline __attribute__((always_inline)) int thirds(int n) { return n / 3 + zero; }
int main(int argc, char** argv) {
  int sum = argv[0][0] == 0;
  for (int i = 0; i < 4; ++i) sum += halves(argc) + thirds(argc);
  return sum == 0;
}
"""


def case_inlined_mixed(case):
    """Pieces of a call among others' code, some of them moved out of the loop, are one call in each round."""
    for flags in ("-O1", "-O2"):
        data = case.record(f"mixed{flags}.data", case.program(f"mixed{flags}", MIXED, flags))
        for function in ("halves", "thirds"):
            calls = case.json("list", function, data)["calls"]
            check(len(calls) == 4, f"{flags} {function}: {calls}")


# Functions that count their calls, inlined in many ways.
COUNTED = r"""
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <vector>
struct Counter { const char* name; unsigned long calls; };
#define COUNTED(f) static Counter of_##f{#f, 0}; static inline __attribute__((always_inline))
#define CALLED(f) __atomic_fetch_add(&of_##f.calls, 1, __ATOMIC_RELAXED)
static volatile int zero;
static jmp_buf back;
COUNTED(skip) const char* skip(const char* p) { CALLED(skip); while (*p == ' ') ++p; return p; }
COUNTED(parse) long parse(const char*& p) {
  CALLED(parse);
  p = skip(p);
  long v = 0;
  while (*p >= '0' && *p <= '9') v = v * 10 + (*p++ - '0');
  return v;
}
COUNTED(hash) unsigned hash(const std::string& s) {
  CALLED(hash);
  unsigned h = 5381;
  for (char c : s) h = h * 33 + static_cast<unsigned char>(c);
  return h;
}
COUNTED(checked) int checked(int n) {
  CALLED(checked);
  if (n % 5 == 3) throw std::runtime_error("three");
  return n + zero;
}
COUNTED(leaps) int leaps(int n) { CALLED(leaps); if (n % 7 == 2) longjmp(back, 1); return n + zero; }
COUNTED(keep) void keep(std::vector<long>& v, long n) { CALLED(keep); v.push_back(n); }
COUNTED(deep) int deep(int n) { CALLED(deep); return n * 3 + zero; }
COUNTED(both) int both(int n) { CALLED(both); return n * 5 + zero; }
COUNTED(swaps) void swaps(long& a, long& b) { CALLED(swaps); long c = a; a = b; b = c; }
COUNTED(leaves) void leaves(int n) { CALLED(leaves); if (n == 3) exit(0); }
__attribute__((noinline)) static int walk(int n) { return n == 0 ? 0 : deep(n) + walk(n - 1) + deep(n); }
int (*volatile pointer)(int) = both;
static void* work(void*) { long sum = 0; for (volatile int i = 0; i < 50; i = i + 1) sum += both(i); return (void*)sum; }
static void tell() {
  for (Counter* c : {&of_skip, &of_parse, &of_hash, &of_checked, &of_leaps, &of_keep, &of_deep, &of_both, &of_swaps, &of_leaves})
    printf("%s %lu\n", c->name, c->calls);
}
int main() {
  atexit(tell);
  std::vector<long> kept;
  std::map<unsigned, int> seen;
  long sum = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string line = "  " + std::to_string(i * 37 % 1009) + " " + std::to_string(i) + std::string(i % 4, ' ');
    const char* p = line.c_str();
    const long a = parse(p);
    const long b = parse(p);
    if (a & 1) keep(kept, a);
    if (b % 3 == 0) keep(kept, b);
    ++seen[hash(line) % 32];
  }
  for (int i = 0; i < 30; ++i) { try { sum += checked(i); } catch (const std::runtime_error&) { ++sum; } }
  for (volatile int i = 0; i < 30; i = i + 1) { if (setjmp(back) == 0) sum += leaps(i); }
  sum += walk(6);
  for (volatile int i = 0; i < 10; i = i + 1) sum += pointer(i) + both(i);
  for (std::size_t i = 0; i < kept.size(); ++i)
    for (std::size_t k = i + 1; k < kept.size() && k < i + 5; ++k) if (kept[k] < kept[i]) swaps(kept[i], kept[k]);
  pthread_t threads[2];
  for (pthread_t& t : threads) pthread_create(&t, nullptr, work, nullptr);
  for (pthread_t& t : threads) pthread_join(t, nullptr);
  for (volatile int i = 0; i < 5; i = i + 1) leaves(i + (sum == 1));
}
"""


def case_inlined_calls(case):
    """As many calls as the program counts itself, whatever the compiler has made of them; the same with an index, and by number."""
    for compiler, flags in (("g++", "-O1"), ("g++", "-O2"), ("g++", "-O3"), ("clang++-19", "-O2")):
        name = f"counted-{compiler}{flags}"
        program = case.program(name, COUNTED, flags, compiler=compiler)
        told = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
        data = case.record(name + ".data", program, options=["--psb-period", "2048"])
        for function, count in zip(told[::2], map(int, told[1::2])):
            listed = case.json("list", function, data, "--no-index")
            calls = listed["calls"]
            check(listed["count"] == count == len(calls), f"{name} {function}: {listed['count']}, not {count}")
            check(case.json("list", function, data)["calls"] == calls, f"{name} {function}: other calls with an index")
            for call in (calls[0], calls[len(calls) // 2], calls[-1]):
                for index in ((), ("--no-index",)):
                    shown = case.json("show", f"call:{function}#{call['number']}", data, *index)
                    check(shown["moment"] == call["moment"], f"{name} {function}: {shown['moment']}, {call}")
            outcomes = {outcome: sum(c["outcome"] == outcome for c in calls) for outcome in ("skipped", "open")}
            skipped = {"checked": 6, "leaps": 4}.get(function, 0)
            check(outcomes == {"skipped": skipped, "open": function == "leaves"}, f"{name} {function}: {outcomes}")
            inlined = sum("inlined" in c for c in calls)
            check(inlined == count - (10 if function == "both" else 0), f"{name} {function}: {inlined} inlined")


TEMPLATES = r"""
#include <cstdio>
#define HERE __attribute__((noinline))
static volatile int zero;
namespace shop {
template <class T> struct Box { T kept; HERE void put(T v) { kept = v + zero; } };
template <class T> HERE T twice(T v) { return v + v + zero; }
template <class T> inline T halves(T v) { return v / 2 + zero; }  // LINE halves
}
int main() {
  shop::Box<int> a{};
  shop::Box<long> b{};
  a.put(shop::twice(1));
  b.put(shop::twice(2L));
  b.put(shop::halves(4L));
  return a.kept + b.kept == 0;
}
"""


def case_templates(case):
    """A template is known by its name without arguments."""
    data = case.record("templates.data", case.program("templates", TEMPLATES, "-O1"))
    for name, calls in (("shop::twice", 2), ("shop::Box::put", 3), ("shop::Box<long>::put", 2), ("shop::twice<int>", 1)):
        done = case.hodo("list", name, data, "--json", status=None)
        check((len(json.loads(done.stdout)["calls"]) if done.returncode == 0 else 0) == calls, f"{name}: {done.stdout}{done.stderr}")
    for moment in ("call:shop::twice", "call:shop::twice#2", "return:shop::twice"):
        for index in ((), ("--no-index",)):
            told = case.hodo("show", moment, data, *index, status=2).stderr
            check("means several functions" in told and "twice<int>" in told and "twice<long>" in told, f"{moment}: {told}")
    check("twice<int>" in case.hodo("show", "call:shop::twice<int>", data).stdout, "the one that is named")
    told = case.hodo("annotate", "shop::halves", data, status=None).stderr
    check(f"has inlined it (templates.cc:{line_of(TEMPLATES, 'halves')})" in told, told)


SELF = r"""
static int sum(int n) { return n <= 0 ? 0 : n + sum(n - 1); } /* LINE sums */
int main(void) {
  int all = 0;
  for (int i = 0; i < 4; ++i) all += sum(i); /* LINE all */
  return all != 10;
}
"""


def case_line_that_calls_itself(case):
    """Each call of a function of one line is an execution of the line; coming back to it is none."""
    data = case.record("self.data", case.program("self", SELF, "-O0"))
    line = f"line:self.c:{line_of(SELF, 'sums')}"
    calls = [c["moment"] for c in case.json("list", "sum", data)["calls"]]
    check(len(calls) == 1 + 2 + 3 + 4, calls)
    moments = [case.json("show", f"{line}#{n}", data)["moment"] for n in range(1, len(calls) + 1)]
    check(moments == calls, (moments, calls))
    check("only 10" in case.hodo("show", line + "#11", data, status=2).stderr, "11")


BEHIND = r"""
static volatile int n;
__attribute__((noipa)) static void adds(void) { ++n; }
__attribute__((noipa)) static void several(void) {
  adds();  // LINE first
  adds();  // LINE second
  n *= 2;  // LINE behind
}
int main(void) {
  for (int i = 0; i < 3; ++i) several();
  return n == 0;
}
"""


def case_line_behind_a_call(case):
    """A line that a call returns to the beginning of is executed, too: the call was another line's."""
    data = case.record("behind.data", case.program("behind", BEHIND, "-O0"))
    calls = [c["moment"] for c in case.json("list", "several", data)["calls"]]
    for word in ("first", "second", "behind"):
        place = f"behind.c:{line_of(BEHIND, word)}"
        moments = [case.json("show", f"line:{place}#{n}", data) for n in (1, 2, 3)]
        check(all(m["stands_at"]["line"] == line_of(BEHIND, word) for m in moments), moments)
        check("only 3" in case.hodo("show", f"line:{place}#4", data, status=2).stderr, word)
        found = [case.json("show", call, "--next", place, data)["moment"] for call in calls]
        check([m["moment"] for m in moments] == found, (word, moments, found))


CAME_BACK = r"""
#include <setjmp.h>
#define HERE __attribute__((noipa))
static jmp_buf back;
static volatile int zero;
HERE static void lands(int depth) { zero = depth - depth; }
HERE static void jumps(void) { longjmp(back, 1); }
HERE static int recurses(int depth, int catcher) {
  if (depth == 0) jumps();
  if (depth == catcher && setjmp(back) != 0) {
    for (int i = 0; i < 3; ++i) lands(depth);
    return 1;
  }
  return recurses(depth - 1, catcher) + zero + 1;
}
int main(void) { return recurses(6, 3) + recurses(4, 4) + recurses(9, 1) == 0; }
"""


def case_came_back(case):
    """longjmp goes to the call that called setjmp, of several of one function: so it does with an index."""
    for flags in ("-O0", "-O2"):
        name = "came-back" + flags
        program = case.program(name, CAME_BACK, flags)
        data = case.record(name + ".data", program, options=["--psb-period", "2048"])
        deep = lambda call: sum(  # noqa: E731
            c["function"] == "recurses" for c in case.json("show", call["moment"], data)["calls"])
        lands = [deep(c) for c in case.json("list", "lands", data)["calls"]]
        check(lands == [4] * 3 + [1] * 3 + [9] * 3, f"{flags}: {lands}")
        calls = case.json("list", "recurses", data)["calls"]
        returned = sum(c["outcome"] == "returned" for c in calls)
        check(len(calls) == 22 and returned == 4 + 1 + 9, f"{flags}: {calls}")


def case_core(case):
    """The registers of a core file, of the process that is in the recording and of no other."""
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
        if "/" in (pattern := file.read()) or "|" in pattern:
            print(f"skipped: core files go elsewhere: {pattern}")
            sys.exit(77)
    program = case.program("deaths", DEATHS, "-O1", "-Wno-stringop-overflow", "-Wno-int-to-pointer-cast")
    most = resource.getrlimit(resource.RLIMIT_CORE)[1]
    if 0 <= most < 1 << 20 and os.geteuid() != 0:
        print(f"skipped: core files may have {most} bytes (ulimit -Hc)")
        sys.exit(77)
    resource.setrlimit(resource.RLIMIT_CORE, (1 << 30, 1 << 30))
    data = case.record("a.data", program, "null_read")
    core = next(case.path(name) for name in os.listdir(case.work) if name.startswith("core"))
    thread = case.json("crash", data, "--core", core, status=None)["processes"][0]["threads"][0]
    check(thread["registers"]["rip"] == thread["stands_at"]["address"], thread["registers"])
    check("Registers" in case.hodo("crash", data, "--core", core, status=None).stdout, "text")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 1 << 30))
    other = case.record("b.data", program, "null_read")
    told = case.hodo("crash", other, "--core", core, status=2).stderr
    check("whose end is not in the recording" in told, told)


STRAIGHT = r"""
volatile int sink;
__attribute__((noinline)) static int straight(int n) { return sink + n; }
__attribute__((noinline)) static int odd(int n) {
  if (n & 1) ++sink;  /* LINE parts */
  return sink;
}
int main(void) { return straight(1) + straight(2) + odd(2) + odd(3) == 99; }
"""


def _calls_without_branches(case):
    """A call that goes straight on has a path, too."""
    data = case.record("straight.data", case.program("straight", STRAIGHT, "-O1", "-fno-if-conversion"))
    same = case.json("diff", data, "--call", "straight#1", "--call", "straight#2")["paths"][0]
    check(same["equal"] and same["common"] == 0, same)
    for one, other in (("1", "2"), ("2", "1")):
        pair = case.json("diff", data, "--call", "odd#" + one, "--call", "odd#" + other, status=1)["paths"][0]
        check(sorted((pair["a_branches"], pair["b_branches"])) == [0, 1], pair)
        check(pair["first"]["a"]["at"]["line"] == line_of(STRAIGHT, "parts"), pair["first"])
    tid = case.branches(data)[0]["tid"]
    told = case.hodo("diff", data, "--thread", str(tid), "--thread", "999999999", status=2).stderr
    check("thread 999999999" in told, told)


LEFT = r"""
#include <setjmp.h>
static jmp_buf back;
static volatile int sink;
__attribute__((noipa)) static void down(int n, int leaves) {
  if (n > 0) { down(n - 1, leaves); ++sink; return; }
  if (leaves) longjmp(back, 1);                              /* LINE leaves */
}
__attribute__((noipa)) static int step(int n) { return n % 3 == 0 ? n : -n; }
int main(int argc, char** argv) {
  if (setjmp(back) == 0) down(5, argv[argc - 1][0] == 'l');
  int sum = 0;
  for (int i = 0; i < 200000; ++i) sum += step(i);
  return sum == 1;
}
"""


def case_left_without_returns(case):
    """Paths meet again behind calls that only one of them has left by longjmp: at once, however long they go on."""
    program = case.program("left", LEFT, "-O1")
    a, b = case.record("a.data", program, "r"), case.record("b.data", program, "l")
    path = case.json("diff", a, b, status=1)["paths"][0]
    check(path["first"]["a"]["at"]["line"] == line_of(LEFT, "leaves"), path["first"])
    check(path["first"]["a"]["meets"] and len(path["partings"]) == 1, path["partings"])


NAMESAKE = r"""
static volatile int sink;
__attribute__((noipa)) static void help(int n) {
  if (n > 1) ++sink;
}
void FUNCTION(int n) { if (n > 0) help(n); }
"""


def case_namesakes(case):
    """Sources of one name, and static functions of one name, are told apart by --only-in."""
    for folder in ("x", "y"):
        os.mkdir(case.path(folder))
        with open(case.path(folder + "/util.c"), "w", encoding="utf-8") as file:
            file.write(NAMESAKE.replace("FUNCTION", "of_" + folder))
    program = case.program("main", "void of_x(int); void of_y(int);\n"
                           "int main(int argc, char** argv) { of_x(argv[1][0] - '0'); of_y(argv[1][1] - '0'); return 0; }\n",
                           "-O1", case.path("x/util.c"), case.path("y/util.c"))
    failing, passing = case.record("f.data", program, "11"), case.record("p.data", program, "01")
    suspects = case.json("diff", "--only-in", failing, "--", passing, status=1)["suspects"]
    best = {(one["kind"], one.get("function"), one.get("file")) for one in suspects
            if one["score"] == 1 and one["module"] == "main"}
    check(("function", "help", "x/util.c") in best, suspects)
    check(("line", None, "x/util.c") in best and not any(file == "y/util.c" for _, _, file in best), suspects)


SHARED_NAME = r"""
__attribute__((noinline)) static int step(int x) { if (x < 0) __builtin_abort(); return x * FACTOR + 1; }
int NAME(int x) { int sum = 0; for (int i = 0; i < x; ++i) sum += step(i); return sum; }
"""
SHARED_NAME_MAIN = r"""
#include <pthread.h>
int up(int); int down(int);
static void* other(void* x) { up(7); return x; }
int main(void) {
  pthread_t t; int sum = up(3) + down(4);
  pthread_create(&t, 0, other, 0); pthread_join(t, 0);
  return sum == 1;
}
"""


def case_shared_name(case):
    """Static functions of one name are two functions, also for who asks for the next call; who began later."""
    sources = []
    for name, factor in (("up", 3), ("down", 5)):
        sources.append(case.path(name + ".c"))
        with open(sources[-1], "w", encoding="utf-8") as file:
            file.write(SHARED_NAME.replace("NAME", name).replace("FACTOR", str(factor)))
    data = case.record("a.data", case.program("main", SHARED_NAME_MAIN, "-O2", "-fno-ipa-cp", *sources, "-lpthread"))
    called = [call["function"] for call in case.json("list", "step", data)["calls"]]
    check((called.count("step [up.c]"), called.count("step [down.c]"), len(called)) == (10, 4, 14), called)
    check(case.json("list", "step [down.c]", data)["count"] == 4, "the one that is meant")
    for words in (("show", "call:step"), ("show", "start", "--next", "step"), ("show", "end", "--previous", "step")):
        for index in ((), ("--no-index", )):
            said = case.hodo(*words, data, *index, status=2).stderr
            check("'step' means several functions: step [down.c] (main), step [up.c] (main);" in said, (words, said))
    first = case.json("show", "start", "--next", "step [down.c]", data)
    check(first["calls"][1]["function"] == "down", first["calls"])
    check(case.json("annotate", "step [up.c]", data)["function"] == "step", "the code of one")
    threads = {branch["tid"] for branch in case.branches(data)}
    later = max(threads)
    others = case.json("show", f"start:{later}", data)["other_threads"]
    check([one["moment"].split(":")[0] for one in others] == [str(min(threads))], others)


KILLED_ALONE = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static void* forbids(void* unused) {
  struct sock_filter all[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {4, all};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  getppid();
  return unused;
}
static void* ends(void* unused) { return unused; }
int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], 0, ends, 0);
  pthread_create(&threads[1], 0, forbids, 0);
  usleep(600000);
  return 0;
}
"""


def case_killed_alone(case):
    """A thread that a filter of system calls kills while its process goes on."""
    data = case.record("a.data", case.program("alone", KILLED_ALONE, "-O0", "-lpthread"))
    killed, process = case.json("crash", data)["processes"]
    check(killed["alone"] and killed["signal"] == 31 and killed["comm"] == "alone", killed)
    check("forbids" in [call["function"] for call in killed["threads"][0]["calls"]], killed)
    check(process["exit_status"] == 0 and not process["threads"], process)
    check("killed by SIGSYS (signal 31) in thread" in case.hodo("crash", data).stdout, "in words")


def case_diff(case):
    """Two runs of one program are alike; one letter later in the input they part at its line."""
    program = case.program("parse", PARSE, "-O1")
    first = case.record("a.data", program, "12a", "7", "b")
    same = case.record("b.data", program, "12a", "7", "b")
    other = case.record("c.data", program, "1a2", "7", "b")
    alike = case.json("diff", first, same)
    check(alike["paths"][0]["equal"] and not alike["differences"], alike)
    parted = case.json("diff", first, other, status=1)["paths"][0]
    parts = line_of(PARSE, "parts")
    for side in ("a", "b"):
        where = parted["first"][side]
        check(where["at"]["line"] == parts and where["calls"][:2] == ["parse", "main"], where)
        check(where["meets"], where)
    check(parted["first"]["a"]["way"] != parted["first"]["b"]["way"], parted)
    for parting in parted["partings"]:
        check(parting["at"]["function"] and parting["side"] in ("a", "b"), parting)
    check(parted["partings"][0]["at"]["line"] == parts, parted["partings"])
    page = case.hodo("diff", first, other, "--format", "html", status=1).stdout
    for word in ("they part at", f"parse.c:{parts}", "sum += letter", "meet again"):
        check(word in page, f"no {word} in the page")
    check("<b>no markup" not in page and "&lt;b&gt;no markup" in page, "text as markup")
    digits = case.record("d.data", program, "12", "7")
    page = case.hodo("diff", first, digits, "--format", "html", status=1).stdout
    check("Only one of them executed" in page and "letter" in page, "what only one executed")
    only = [d["module"] for d in case.json("diff", "--top", "0", first, digits, status=1)["differences"]
            if 0 in (d["a"], d["b"])]
    check(only[0] == "parse" and only == sorted(only, key=lambda module: module != "parse"), only)
    turned = case.record("f.data", program, "1a2", "b", "7")
    text = case.hodo("diff", first, turned, status=1).stdout
    last = case.json("diff", first, turned, status=1)["paths"][0]["partings"][-1]
    row = next((line for line in text.splitlines() if line.startswith(f"  {last['a']} ")), "")
    check(f"{last['at']['function']}+" in row, f"the last parting is not listed with its place: {text}")
    out = case.path("suspects.html")
    case.hodo("diff", "--only-in", other, "--format", "html", "-o", out, "--", first, same, status=None)
    with open(out, encoding="utf-8") as file:
        check("1 failing and 2 passing" in file.read(), "suspects as a page")
    listed = (case.branches(first), case.branches(other))
    for side, branches in zip(("a", "b"), listed):
        number = int(parted["first"][side]["moment"].split(":")[1].split("+")[0])
        check(number >= parted["common"], "the first branches are alike")
        check(branches[number]["kind"] in ("cond", "call", "jmp", "ret"), branches[number])
    calls = case.json("diff", first, "--call", "parse#1", "--call", "parse#3", status=1)
    check(calls["paths"][0]["first"]["a"]["at"]["function"] == "parse", calls)
    only = [d for d in calls["differences"] if d["b"] == 0 and d["kind"] == "function"]
    check([d["function"] for d in only] == ["digit"], only)
    longer = case.record("d.data", program, "12", "7", "b")
    ranked = case.json("diff", "--only-in", longer, "--", first, same, status=None)["suspects"]
    check(all(s["score"] < 1 for s in ranked), ranked)
    none = case.record("e.data", program, "12")
    ranked = case.json("diff", "--only-in", first, same, "--", none, status=1)["suspects"]
    check(any(s.get("function") == "letter" and s["score"] == 1 for s in ranked), ranked)
    _calls_without_branches(case)
    check("passing" in case.hodo("diff", "--only-in", first, status=2).stderr, "failing runs alone")
    case.hodo("diff", first, status=2)
    case.hodo("diff", first, "--call", "parse#1", status=2)
    check("only 3" in case.hodo("diff", first, "--call", "parse#1", "--call", "parse#9",
                                status=2).stderr, "call")
    check("no-such" in case.hodo("diff", first, "no-such", status=2).stderr, "file")


LAZY = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static int work(int n) {
  char text[16];
  snprintf(text, sizeof text, "%d", n);
  return atoi(text);
}
int main(int argc, char** argv) { return work(argc) - work(argc); }
"""


def case_lazily_bound(case):
    """That the loader looks a function up at its first call is no difference."""
    data = case.record("a.data", case.program("lazy", LAZY, "-O1", "-fno-builtin", "-Wl,-z,lazy"))
    work = [c for c in case.json("list", "work", data, status=None)["calls"] if c["instructions"]]
    check(len(work) == 2 and work[0]["instructions"] > 2 * work[1]["instructions"], work)
    calls = case.json("diff", data, "--call", "work#1", "--call", "work#2", status=1)
    check(calls["paths"][0]["equal"], calls["paths"][0])


REBUILT = PARSE.replace("int main(", """static int twice(int n) { puts(TEXT); return 2 * n; }
int main(""").replace("return total == 0", "return twice(total) == 0")


def case_rebuilt(case):
    """Builds of one program: other addresses and inlined functions are no difference, and what is alike is compared."""
    def record(name, arguments, *flags, source=REBUILT):
        os.makedirs(case.path(name), exist_ok=True)
        return case.record(name + ".data", case.program(name + "/parse", source, *flags), *arguments)

    one = record("one", ("12a", "7"), "-O2", '-DTEXT="one"')
    plain = record("plain", ("12a", "7"), "-O0", "-fno-builtin", '-DTEXT="one"')
    alike = case.json("diff", plain, one, status=None)
    check(alike["notes"] and "another build" in alike["notes"][0], alike["notes"])
    check(alike["paths"][0]["equal"], alike["paths"])
    # digit() and letter() are called by turns: by what parse() calls they part there, at the call.
    other = record("other", ("1a2", "7"), "-O0", "-fno-builtin", '-DTEXT="one"')
    parted = case.json("diff", one, other, status=1)["paths"][0]
    check(all(parted["first"][side]["at"]["function"] == "parse" for side in ("a", "b")), parted)
    # Laid out as before, parse() is compared branch by branch.
    text = record("text", ("1a2", "7"), "-O2", '-DTEXT="another text"')
    parted = case.json("diff", one, text, status=1)["paths"][0]
    for side in ("a", "b"):
        where = parted["first"][side]["at"]
        check(where["function"] == "parse" and where["line"] == line_of(REBUILT, "parts"), where)
    check(parted["first"]["a"]["next"]["kind"] == "cond" or parted["first"]["b"]["next"]["kind"] == "cond", parted)
    # Lines of its own before main(), which begins in another line then: what main() calls is called as before.
    behind = REBUILT.replace("int main(", "static int add(int n) {\n  return n + 1;\n}\nint main(").replace(
        "return twice(total)", "return add(-1) + twice(total)")
    other = record("moved", ("12a", "7"), "-O2", '-DTEXT="one"', source="\n\n" + behind)
    moved = case.json("diff", one, other, status=None)
    lines = [d for d in moved["differences"] if d["kind"] != "function" and d["module"] == "parse"]
    check(moved["paths"][0]["equal"] and not lines, lines)


ADDED = r"""
#define HERE __attribute__((noinline, noclone))
static volatile int sum;
HERE static void add(int n) { sum = sum + n; }
static inline int half(int n) { return n / 2; }
#ifdef EXTRA
HERE static void extra(int n) { sum = sum - n; }
#endif
HERE static void step(int n) {
  add(half(n));
#ifdef EXTRA
  extra(n);                                                /* LINE added */
#endif
#ifdef AGAIN
  add(n);                                                  /* LINE again */
#endif
}
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) step(argv[i][0]);
  return 0;
}
"""


def case_added(case):
    """A call that only one of two builds makes is a difference where both were compiled alike, not where one may inline it."""
    def record(name, *flags):
        os.makedirs(case.path(name), exist_ok=True)
        return case.record(name + ".data", case.program(name + "/added", ADDED, *flags), "6", "7")

    for level in ("-O0", "-O2"):
        plain = record("plain" + level, level)
        for change, line in (("EXTRA", "added"), ("AGAIN", "again")):
            changed = record(change + level, level, "-D" + change)
            for one, other, side in ((plain, changed, "b"), (changed, plain, "a")):
                parted = case.json("diff", one, other, status=1)["paths"][0]["first"][side]["at"]
                check(parted["function"] == "step" and parted["line"] == line_of(ADDED, line), f"{level} {change}: {parted}")
        bare = record("bare" + level, level, "-g0", "-DEXTRA")
        check(case.json("diff", plain, bare, status=None)["paths"][0]["equal"], "nothing says how it was compiled")
    alike = case.json("diff", case.path("plain-O0.data"), case.path("plain-O2.data"), status=None)
    check(alike["paths"][0]["equal"], alike["paths"])


IN_PLACE = r"""
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#define HERE __attribute__((noinline, noclone))
static char* kept;
HERE static char* room(int n) { return malloc(n); }
HERE static void clear(char* to, int n) { for (int i = 0; i < n; ++i) to[i] = 0; }
HERE static int digits(const char* a) { int n = 0; while (isdigit(*a++)) ++n; return n; }
HERE static int equal(const char* a) { return strcmp(a, "") == 0 || strcmp(a, "7") == 0; }
HERE static void copy(char* to, const char* from) { strcpy(to, from); }
HERE static void one(const char* text) {
  int n = strlen(text) + 1;
  kept = room(n);
  clear(kept, n);
  if (digits(text) != 0 && !equal(text)) copy(kept, text);                      /* LINE copies */
}
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) one(argv[i]);
  return 0;
}
"""


INLINED_IN_ONE = r"""
static volatile int zero;
static int thirds(int n) { return n / 3 + zero; }
static int halves(int n) { return n / 2 + thirds(n); }
__attribute__((noinline)) static int scaled(int n, int by) { return n % by + n / by + zero; }  // GCC -O2: scaled.constprop.0
int main(int argc, char** argv) { return halves(argc) + scaled(argc, 7) + scaled(argc + 1, 7) + argv[0][0] == 0; }
"""


PARTED = r"""
static volatile int zero;
__attribute__((noinline)) static int one(int n) { return n + zero; }
__attribute__((noinline)) static int other(int n) { return n - zero; }
__attribute__((noinline)) static int chooses(int n) {
  if (n > 1) return one(n) + 1;                            /* LINE parts */
  return other(n) + 2;
}
int main(int argc, char** argv) { return chooses(argc) + chooses(argc + 1) + argv[0][0] == 0; }
"""


def case_parted_to_the_end(case):
    """Two calls that have nothing more in common are not said to have been looked at in part."""
    data = case.record("parted.data", case.program("parted", PARTED, "-O1", "-fno-inline"))
    calls = ("--call", "chooses#1", "--call", "chooses#2")
    told = case.hodo("diff", data, *calls, status=1).stdout
    check("meet again    not before they end" in told, told)
    first = case.json("diff", data, *calls, status=1)["paths"][0]["first"]
    check(first["a"]["at"]["line"] == line_of(PARTED, "parts"), first)


def case_inlined_in_one(case):
    """That one build calls what the other has inlined is no difference between the runs."""
    def record(level):
        os.makedirs(case.path(level), exist_ok=True)
        return case.record(level + ".data", case.program(level + "/in_one", INLINED_IN_ONE, level))

    plain, optimised = record("-O0"), record("-O2")
    for pair in ((plain, optimised), (optimised, plain)):
        told = case.json("diff", *pair, status=None)
        functions = [d for d in told["differences"] if d["module"] == "in_one" and d["kind"] == "function"]
        check(told["paths"][0]["equal"] and not functions, functions)
        check(any("has calls of these inlined" in note and "halves and thirds" in note for note in told["notes"]), told["notes"])
        only = case.json("diff", "--only-in", pair[0], "--", pair[1], status=None)
        check(not [one for one in only["suspects"] if one["module"] == "in_one" and one["kind"] == "function"], only["suspects"])


LEVELS = r"""
#include <stdio.h>
static int scale(int v)
{
  int r = v;                                               /* LINE only_at_0 */
  r *= 3;
  return r;
}
__attribute__((noipa)) static int large(int v)
{
  return v + 1;                                            /* LINE differs */
}
static int total(int *items, int n)
{
  int sum = 0;
  for (int i = 0; i < n; i++)
  {
    int v = scale(items[i]);
    if (v > 30)
    {
      sum += large(v);
    }
  }
  return sum;
}
int main(int argc, char **argv)
{
  int items[8];
  for (int i = 0; i < 8; i++)
  {
    items[i] = i * argc;
  }
  printf("%d\\n", total(items, 8));
  return 0;
}
"""


def case_code_in_one(case):
    """Of two levels of optimisation no lines are compared that have code at one of them only."""
    def record(level, *words):
        os.makedirs(case.path(f"{level}"), exist_ok=True)
        return case.record(f"{level}-{len(words)}.data", case.program(f"{level}/level", LEVELS, f"-O{level}"), *words)

    def lines(told):
        return [d["line"] for d in told["differences"] if d["kind"] == "line" and d["file"] == "level.c"]

    data = record(0, "a", "b", "c", "d"), record(2, "a", "b", "c", "d"), record(2)
    same = case.json("diff", *data[:2], "--top", "0", status=None)
    check(not lines(same), lines(same))
    note, = (n for n in same["notes"] if "code in one of the builds only are not compared" in n)
    check(f":{line_of(LEVELS, 'only_at_0')}" in note, note)
    other = case.json("diff", data[0], data[2], "--top", "0", status=None)
    check(line_of(LEVELS, "differs") in lines(other), lines(other))


def case_in_place(case):
    """Whether a build calls memset() and its like or does their work in place is no difference between it and another."""
    def record(level, *arguments):
        os.makedirs(case.path(level), exist_ok=True)
        return case.record(level + "".join(arguments) + ".data", case.program(level + "/place", IN_PLACE, level), *arguments)

    for arguments in (("6", "7", "67"), ("7", )):
        both = [record(level, *arguments) for level in ("-O0", "-O2")]
        alike = case.json("diff", *both, status=None)
        check(alike["paths"][0]["equal"], alike["paths"])
        counted = [d for d in alike["differences"] if d["module"] == "place" and
                   (d["kind"].endswith("taken") or (d["kind"] == "line" and d["a"] and d["b"]))]
        check(not counted, counted)
    parted = case.json("diff", record("-O0", "8", "7"), record("-O2", "7", "8"), status=1)["paths"][0]["first"]
    check(parted["a"]["at"]["line"] == line_of(IN_PLACE, "copies"), parted)


USES = r"""
#ifdef LIBRARY
int digits(const char* text) {
  int count = 0;
  for (; *text != 0; ++text) {
    if (*text >= '0' && *text <= '9') ++count; /* LINE counts */
  }
  return count;
}
#else
int digits(const char* text);
int main(int count, char** words) { return digits(words[count - 1]) == 77; }
#endif
"""


def case_renamed(case):
    """Builds under other names, of a program and of a library, are compared like those under the same name."""
    def record(folder, program, library, word, *flags):
        os.makedirs(case.path(folder), exist_ok=True)
        named = []
        for name, source, options in ((library, "digits", ("-shared", "-fPIC", "-DLIBRARY")), (program, "uses", ())):
            built = case.program(f"{folder}/{source}", USES, *flags, *options, "-Wl,--no-as-needed", *named)
            named.append(case.path(f"{folder}/{name}"))
            os.rename(built, named[-1])
        return case.record(folder + ".data", named[-1], word)

    old = record("old", "uses-old", "libdigits.so.1.2", "1a2b", "-O0")
    new = case.json("diff", old, record("new", "uses-new", "libdigits.so.1.2.1", "1a2b", "-O2"), status=None)
    check(new["paths"][0]["equal"], new["paths"])
    for name, other in (("uses-new", "uses-old"), ("libdigits.so.1.2.1", "libdigits.so.1.2")):
        check(any(f"{name} is compared with {other} of A" in note for note in new["notes"]), new["notes"])
    same = case.json("diff", old, record("same", "uses-too", "libdigits.so.1.3", "1a2b", "-O0"), status=None)
    check(same["paths"][0]["equal"] and not same["differences"], same)
    parted = case.json("diff", old, record("bad", "uses-too", "libdigits.so.1.3", "1ab2", "-O0"), status=1)["paths"][0]
    check(parted["first"]["a"]["at"]["line"] == line_of(USES, "counts"), parted)
    # Of another version by its name: not the same thing.
    major = case.json("diff", old, record("major", "uses-old", "libdigits.so.2", "1a2b", "-O0"), status=None)
    check(not any("compared with" in note for note in major["notes"]), major["notes"])


REBUILT_CC = r"""
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
struct Sums {
  const char* at;
  long sum();
  long product();
  long number();
};
long Sums::number() {
  if (*at != '(') return std::strtol(at, const_cast<char**>(&at), 10);
  ++at;
  const long in = sum();
  ++at;
  return in;
}
long Sums::product() {
  long left = number();
  while (*at == '*' || *at == '/') {
    const bool divide = *at++ == '/';
    const long right = number();
    if (divide && right == 0) throw std::domain_error("zero");  /* LINE parts */
    left = divide ? left / right : left * right;
  }
  return left;
}
long Sums::sum() {
  long left = product();
  while (*at == '+') ++at, left += product();
  return left;
}
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    try {
      std::printf("%ld\\n", Sums{argv[i]}.sum());
    } catch (const std::domain_error&) {
      std::puts("error");
    }
  }
}
"""


def case_rebuilt_cc(case):
    """C++ that another optimisation lays out otherwise, or that has no build-id, or no lines: one path."""
    def record(name, arguments, *flags):
        os.makedirs(case.path(name), exist_ok=True)
        program = case.program(name + "/sums", REBUILT_CC, *flags)
        return case.record(name + ".data", program, *arguments)

    good, bad = ("1+2*3", "8/(1+-2)"), ("1+2*3", "8/(2+-2)")
    line = line_of(REBUILT_CC, "parts")
    two = record("two", good, "-O2")
    for name, flags in (("three", ("-O3",)), ("one", ("-O1",)), ("no-id", ("-O3", "-Wl,--build-id=none"))):
        alike = case.json("diff", two, record(name, good, *flags), status=None)
        check("another build" in alike["notes"][0] and alike["paths"][0]["equal"], alike["paths"])
    # The path is compared by what is called where it was compiled otherwise.
    parted = case.json("diff", two, record("three-bad", bad, "-O3"), status=1)["paths"][0]["first"]
    check(parted["b"]["at"]["function"].startswith("Sums::product"), parted)
    # Laid out as before, by line.
    bare = record("bare", bad, "-O2", "-g0", "-DANOTHER")
    diff = case.json("diff", two, bare, status=1)
    check(diff["paths"][0]["first"]["a"]["at"]["line"] == line, diff["paths"][0]["first"])
    check(any("sums has source lines in one" in note for note in diff["notes"]), diff["notes"])
    check(all(d["kind"] == "function" for d in diff["differences"] if d["module"] == "sums"), diff["differences"])
    told = case.hodo("diff", "--only-in", bare, "--", two, status=None)
    check("sums has source lines in some" in told.stderr, told.stderr)


UNCOMPARED = r"""
static inline __attribute__((always_inline)) int scale(int n) { return n > 10 ? n * 2 : n + 1; }
#define HERE __attribute__((noinline, noclone))
HERE static int plain(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum ^= n + i;
  return sum;
}
HERE static int changed(int n) {
  int sum = 0;
  CHANGE
  for (int i = 0; i < n; ++i) sum += scale(i);
  return sum;
}
HERE static int behind(int n) {
  if (n > 2) return n;                                     /* LINE behind */
  return n * 7;                                            /* LINE rare */
}
int main(int argc, char** argv) {
  return (plain(argc) + changed(argc) + behind(argc)) == 123;
}
"""


def case_uncompared(case):
    """Where builds differ only in what cannot be compared, hodo diff says so, with a status of its own."""
    def record(name, change, *arguments):
        os.makedirs(case.path(name), exist_ok=True)
        program = case.program(name + "/changes", UNCOMPARED.replace("CHANGE", change), "-O1")
        return case.record(name + ".data", program, *arguments)

    one = record("one", "", "1")
    other = record("other", "\n  if (n == 77)\n    sum = n;", "1")
    alike = case.json("diff", one, other, status=3)
    check(alike["paths"][0]["equal"] and not alike["complete"], alike)
    check(not alike["differences"], alike["differences"])
    check(any("changed" in note and "not compared" in note for note in alike["notes"]), alike["notes"])
    check("No difference in what could be compared" in case.hodo("diff", one, other, status=3).stdout, "said at the end")
    check(case.json("diff", one, one, status=0)["complete"], "one build")
    # Lines of another build are those of the first recording, which only one run executed.
    told = case.hodo("diff", "--only-in", other, "--", one, status=3)
    check("executed nothing that" in told.stdout and "first recording" in told.stderr, told)
    more = record("more", "\n  if (n == 77)\n    sum = n;", "1", "2")
    old = case.json("diff", "--top", "0", "--only-in", one, "--", more, status=1)["suspects"]
    check([s["line"] for s in old if s["kind"] == "line"] == [line_of(UNCOMPARED, "rare")], old)
    new = case.json("diff", "--top", "0", "--only-in", more, "--", one, other, status=1)["suspects"]
    check(not [s for s in new if s["kind"] == "line" and s["score"] == 1], new)


def case_only_in(case):
    """What tells failing from passing runs is ranked as the coefficient of Ochiai of each run's coverage has it."""
    program = case.program("parse", PARSE, "-O1")
    arguments = {"fail1": ("a1", "2"), "fail2": ("b", "7"), "fail3": ("c",), "pass1": ("1", "2"), "pass2": ("b7",),
                 "pass3": ("12",), "pass4": ("",), "pass5": ("999", "9"), "pass6": ("4", ""), "pass7": ("5", "6", "7")}
    ran = {}
    for run, words in arguments.items():
        case.record(run, program, *words)
        (module,) = [m for m in case.json("coverage", run)["modules"] if m["path"] == program]
        ran[run] = {f["name"] for f in module["functions"] if f["blocks_hit"]}
    failing, passing = ([run for run in arguments if run.startswith(kind)] for kind in ("fail", "pass"))
    want = {}
    for name in set().union(*ran.values()):
        bad, good = (sum(name in ran[run] for run in runs) for runs in (failing, passing))
        if bad and (bad, good) != (len(failing), len(passing)):
            want[name] = (bad, good, round(bad / (len(failing) * (bad + good)) ** 0.5, 9))
    check({"letter", "digit"} <= set(want), want)
    suspects = case.json("diff", "--top", "0", "--only-in", *failing, "--", *passing, status=None)["suspects"]
    scores = [s["score"] for s in suspects]
    check(scores == sorted(scores, reverse=True), "the most suspicious first")
    got = {s["function"]: (s["failing"], s["passing"], round(s["score"], 9))
           for s in suspects if s["kind"] == "function" and s["module"] == "parse"}
    check(got == want, f"{got} {want}")
    lines = {s["line"]: s["failing"] for s in suspects if s["kind"] == "line" and s.get("file") == "parse.c"}
    check(lines.get(next(n for n, text in enumerate(PARSE.splitlines(), 1) if "sum += letter" in text)) == 3, lines)
    case.hodo("diff", "--only-in", "fail1", "none", "--", "pass1", status=2)
    told = case.hodo("diff", "--only-in", "fail1", "--top", "0", "--", "pass1", "--json", status=2).stderr
    check("'--json' stands behind --" in told, told)
    cut = case.path("cut")
    shutil.copy(case.path("pass1"), cut)
    os.truncate(cut, os.path.getsize(cut) * 2 // 3)
    told = case.hodo("diff", "--only-in", "fail1", "--", cut, status=None)
    check("lost" in told.stderr, told.stderr)


def exported(case, judge, *flags):
    program = case.program("parse", PARSE, "-O1", *flags)
    judge(case, check, case.record("a.data", program, "12a", "7", "b"), program)


TWINS = r"""
extern volatile int sink;
__attribute__((noinline)) static int helper(int n) { if (n & 1) sink += 3; return sink; }
int from_NAME(int n) { return helper(n) + helper(n + 1)REST; }
"""


def case_same_names(case):
    """Functions of one name in one file are not added up: an address says which is meant."""
    for name, rest in (("a", "+ helper(n + 3)"), ("b", "")):
        with open(case.path(f"{name}.c"), "w", encoding="utf-8") as file:
            file.write(TWINS.replace("NAME", name).replace("REST", rest))
    main = "volatile int sink; int from_a(int); int from_b(int); int main(void) { return from_a(1) + from_b(2) == 99; }"
    data = case.record("a.data", case.program("twins", main, "-O1", case.path("a.c"), case.path("b.c")))
    calls = [call["caller"] for call in case.json("list", "helper", data)["calls"]]
    check(calls == ["from_a"] * 3 + ["from_b"] * 2, calls)
    for words in (["annotate", "helper", data], ["export", data, "--to", "cfg-dot", "--function", "helper"]):
        told = case.hodo(*words, status=2).stderr
        check("2 functions that are called 'helper' ran; write the address" in told, told)
        addresses = re.findall(r"0x[0-9a-f]+", told)
        check(len(addresses) == 2, told)
        counted = sorted(case.json("annotate", address, data)["entered"] for address in addresses)
        check(counted == [2, 3], f"{addresses}: {counted}")


def case_annotate(case):
    exported(case, exports.annotate)
    data = case.path("a.data")
    for words, says in ((("main", "--call", "parse#1"), "no function 'main' ran in the call parse#1"),
                        (("parse", "--call", "parse"), "annotate"), (("parse", "--call", "prase#2"), "did you mean 'parse'"),
                        (("parse", "--call", "7"), "a call is written FUNCTION#N"),
                        (("parse", "--call", "parse#7"), "call 7 of parse was asked for, and there are only 3"),
                        (("main", "--call", "main#2"), "and there is only one")):
        told = case.hodo("annotate", *words, data, status=None)
        check(says in told.stderr or says == "annotate" and told.returncode == 0, told)


COLD = r"""
#include <cstdio>
#include <stdexcept>
namespace shop {
__attribute__((noinline)) int half(int v) {
  if (v == 3) throw std::runtime_error("odd");
  return v / 2;
}
}
int main() {
  int sum = 0;
  for (int i = 0; i < 4; ++i) try { sum += shop::half(i); } catch (const std::exception&) { }
  return sum == 9;
}
"""


def case_cold(case):
    """A function whose rare part lies elsewhere is meant by its name, and by the mangled one; that part by its own."""
    data = case.record("cold.data", case.program("cold", COLD, "-O2"))
    for name in ("shop::half", "shop::half(int)", "_ZN4shop4halfEi"):
        told = case.hodo("annotate", name, data).stdout
        check(told.startswith("shop::half(int) (") and "shop::half(int) [clone .cold] (1)" in told, f"{name}: {told}")
        check(len(case.json("list", name, data)["calls"]) == 4, name)
    check(case.hodo("annotate", "shop::half(int) [clone .cold]", data).stdout.startswith("shop::half(int) [clone .cold] ("), "the part")


def case_graphs(case):
    if shutil.which("dot") is None:
        print("skipped: dot is not installed")
        sys.exit(77)
    exports.graphs(case, check)


def case_timelines(case):
    exported(case, exports.timelines)


def case_profiles(case):
    exported(case, exports.profiles, "-no-pie", "-fno-pie", "-Wl,-q", "-gdwarf-4")


def cases():
    out = {name[5:]: f for name, f in globals().items() if name.startswith("case_")}
    for name, how in MOMENTS.items():
        out[name] = lambda case, how=how: moments(case, *how)
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", nargs="?")
    parser.add_argument("--list", action="store_true")
    for option in ("--hodo", "--programs", "--moments", "--work"):
        parser.add_argument(option)
    args = parser.parse_args()
    if args.list:
        print("\n".join(cases()))
        return 0
    work = os.path.join(args.work, args.case)
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    try:
        cases()[args.case](Case(args, work))
    except Failed as failed:
        print(failed)
        return 1
    shutil.rmtree(work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
