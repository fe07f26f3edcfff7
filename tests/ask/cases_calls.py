"""Every call of a function: which there are, how each ended, what waited, and which function a name means."""

import json
import os
import re
import subprocess

from box import PARSE, Failed, check, line_of

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
    latest = [call["number"] for call in case.json("list", "parse", data, "--sort", "latest")["calls"]]
    check(latest == [3, 2, 1], latest)
    for order in ("order", "latest", "duration", "instructions"):
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
        told = case.hodo(command, data, "digit", status=2).stderr
        check(f"'{data}' was taken for the {argument}, it is a file: 'hodo {command} digit {data}' asks it" in told, told)
    for words, says in ((("show", "parse#2", data), "did you mean 'call:parse#2'?"),
                        (("show", "parse.c:7", data), "did you mean 'line:parse.c:7'?"),
                        (("list", "parse", data, "--sorted", "order"), "unknown option '--sorted' (did you mean '--sort'?); see"),
                        (("list", "parse", data, "--zzz=3", "4"), "unknown option '--zzz'; see"),
                        (("report", data, "more", "most"), "unexpected argument 'more'; see")):
        told = case.hodo(*words, status=2).stderr
        check(says in told, told)
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
