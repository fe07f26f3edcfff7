"""What differs between runs of two builds of a program."""

import os

from box import PARSE, check, line_of

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

EARLY = r"""
#include <stdio.h>
__attribute__((noipa)) static double sum(int low, int high) {
  if (high LESS low) return 0;                             /* LINE parts */
  return (high + low) * (double)(high - low + 1) / 2;
}
int main(int argc, char** argv) {
  if (sum(argc, 1) == 0) puts(argv[0]);
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


def case_returns_early(case):
    """That a function of another build returns without what it did before is seen there, not behind its return."""
    def record(less):
        os.makedirs(case.path(less), exist_ok=True)
        return case.record(less + ".data", case.program(less + "/early", EARLY, "-O1", "-DLESS=" + less))

    pair = record("<"), record("<=")
    for one in (pair, pair[::-1]):
        first = case.json("diff", *one, status=1)["paths"][0]["first"]
        check(all(first[side]["at"]["line"] == line_of(EARLY, "parts") for side in "ab"), first)


APART = r"""
#include <stdio.h>
static volatile int zero;
__attribute__((noipa)) static int work(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += i * zero;
  if (n > 1) fflush(stdout);                               /* LINE b */
  return sum;
}
int main(int argc, char** argv) {
  (void)argv;
  return work(argc) + puts("end") == 0;                    /* LINE a */
}
"""


def case_part_in_two_functions(case):
    """Where two builds are known to have parted only in different functions, both are told."""
    def record(level, *words):
        os.makedirs(case.path(level), exist_ok=True)
        return case.record(level + ".data", case.program(level + "/apart", APART, level), *words)

    told = case.hodo("diff", record("-O0"), record("-O2", "more"), status=1).stdout
    for label, word in (("they part at", "a"), ("B at        ", "b")):
        check(f"  {label}  apart.c:{line_of(APART, word)} " in told, told)


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
    # And which way they branch is not compared where a function was compiled otherwise, nor ranked.
    odd = record("odd", "if (n == 1) return plain(n);", "1")
    for runs in ((odd, "--", one), (one, "--", odd), (odd, odd, "--", one, one)):
        ranked = case.json("diff", "--top", "0", "--only-in", *runs, status=None)["suspects"]
        check(not [s for s in ranked if s["kind"] in ("taken", "not-taken")], ranked)
    more = record("more", "\n  if (n == 77)\n    sum = n;", "1", "2")
    old = case.json("diff", "--top", "0", "--only-in", one, "--", more, status=1)["suspects"]
    check([s["line"] for s in old if s["kind"] == "line"] == [line_of(UNCOMPARED, "rare")], old)
    new = case.json("diff", "--top", "0", "--only-in", more, "--", one, other, status=1)["suspects"]
    check(not [s for s in new if s["kind"] == "line" and s["score"] == 1], new)
