"""How processes ended: every kind of death, failures told by exit statuses, cores beside the recording."""

import os
import resource
import signal
import sys

from box import check, line_of

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
    flags = ("-O1", "-pthread", "-fno-optimize-sibling-calls")
    program = case.program("failures", FAILURES, *flags)
    # Without a dynamic linker: that alone takes 1.6 million steps.
    stepped = case.program("stepped", FAILURES, *flags, "-static")

    def names(scene):
        return [call["function"].split("(")[0] for call in scene["calls"]]

    def ends(kind, source="dbi", program=program):
        data = case.record(kind + ".data", program, kind, source=source)
        return data, case.json("crash", data, status=None)["processes"]

    _, (ended, ) = ends("stepped", source="step", program=stepped)
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
    check(f"exit status 4\nits last exception was raised at {raised['moment']}; see below\n" in text, text)
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


EXITS = r"""
#include <err.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int zero;
static void handles(void) { zero = 0; if (zero) exit(9); }
static __attribute__((noinline)) int gives_up(int how) {
  if (how == 'e') exit(zero + 3);                 /* LINE e */
  if (how == 'u') _exit(zero + 4);                /* LINE u */
  if (how == 'x') errx(zero + 5, "it is over");   /* LINE x */
  return zero + 6;                                /* LINE m */
}
int main(int argc, char** argv) {
  atexit(handles);
  int status = gives_up(argv[1][0]);
  zero = 0;
  return status;                                  /* LINE returns */
}
"""


def case_exits(case):
    """Where a process that exited with another status than 0 was told to by its own code, not by the C library's."""
    program = case.program("exits", EXITS, "-O0")
    static, bare = case.program("static", EXITS, "-O0", "-static"), case.program("bare", EXITS, "-O0", "-s")
    for how, function, program in (("e", "exit", program), ("u", "_exit", program), ("x", "exit", program),
                                   ("e", "exit", static), ("m", None, program), ("m", None, static), ("m", None, bare)):
        data = case.record("exits.data", program, how)
        (ended, ) = case.json("crash", data)["processes"]
        text = case.hodo("crash", data).stdout
        scene = ended.get("exit_called" if function else "main_returned")
        check(scene and ("main_returned" in ended) == (function is None) and ("exit_called" in ended) == (function is not None),
              f"{how}: {list(ended)}")
        words = f"{function} was called" if function else "main returned"
        check(f"\n{words} at {scene['moment']}; see below\n" in text and f"\nWhere {words}, at {scene['moment']}\n" in text, text)
        shown = case.json("show", scene["moment"], data)
        check(shown["stands_at"] == scene["stands_at"] and shown["instruction"] == scene["instruction"], scene["moment"])
        check(scene["instruction"].split()[0] == ("call" if function else "ret"), scene["instruction"])
        if program == bare:
            continue
        own = [call["function"] for call in scene["calls"]][:2]
        check(own == ["gives_up", "main"] if function else own[0] == "main", f"{how}: {own}")
        last = text[text.index("Last lines before that"):]
        check(f":{line_of(EXITS, how if function else 'returns')} " in last, f"{how}: {last}")
        if function:
            check(scene["stands_at"]["line"] == line_of(EXITS, how), f"{how}: {scene['stands_at']}")


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
