"""Calls that are inlined: in stacks, in lists, and where only part of a function is."""

import os
import subprocess

from box import check, line_of

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
    check("did you mean 'halves'?" in case.hodo("list", "havles", data, status=2).stderr, "a name that nothing called has")
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
        check(f"{os.path.basename(split)} is missing; it would be {split}\n" in told, told)
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
    hint = f"{os.path.basename(split)} is missing; it would be {case.path(split)}"
    for _ in range(2):  # the second time what is kept is asked
        listed = case.json("list", "halves", data)
        check(listed["count"] == 1 and listed["unknown"].endswith(hint), listed)
        check(hint in case.hodo("list", "halves", data).stdout, "text")
    check(case.json("show", "call:halves", data)["unknown"].endswith(hint), "show --json")
    check(hint in case.hodo("show", "call:halves", data).stdout, "show")
    check("unknown" not in case.json("show", "return:halves", data), "what was inlined has no return")
    for words in (("show", "call:halves#2"), ("branches", "--call", "halves#2"), ("branches", "--from", "call:halves#2")):
        told = case.hodo(*words, data, status=2).stderr
        check("there is only one" in told and hint in told, f"{words}: {told}")
    with open(program + ".dwp", "wb") as package:
        package.write(b"no package")
    told = case.hodo("list", "halves", data).stdout
    check(f"{hint}, and libdw " in told and " finds nothing of it in called.dwp\n" in told, told)
    os.unlink(program + ".dwp")
    os.rename(case.path(split) + ".away", case.path(split))
    listed = case.json("list", "halves", data)
    check(listed["count"] == 2 and "unknown" not in listed, listed)
    check("unknown" not in case.json("show", "call:halves#2", data), "show of the second")
    # Of a relative name it is said where it is looked for, and there it is found.
    there, moved = case.path("there"), case.path("moved")
    os.mkdir(there)
    os.mkdir(moved)
    subprocess.run(["gcc", "-g", "-O1", "-gsplit-dwarf", "../called.c", "-o", "a"], cwd=there, check=True)
    split, = (name for name in os.listdir(there) if name.endswith(".dwo"))
    os.rename(f"{there}/a", f"{moved}/a")
    os.rename(f"{there}/{split}", case.path(split))
    data = case.record("moved.data", f"{moved}/a")
    told = case.hodo("list", "halves", data).stdout
    check(f"{split} is missing; it would be {moved}/{split} or {there}/{split}\n" in told, told)
    for place in (moved, there):
        os.rename(case.path(split), f"{place}/{split}")
        check(case.json("list", "halves", data)["count"] == 2, place)
        os.rename(f"{place}/{split}", case.path(split))


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
