"""What the cases are written in: recordings of small programs, made in a folder of their own, and what is asked of them."""

import json
import os
import subprocess
import sys


class Failed(Exception):
    pass


class Case:
    def __init__(self, args, work):
        self.args, self.work = args, work

    def path(self, name):
        return os.path.join(self.work, name)

    def hodo(self, *words, status=0, env=None, feed=None):
        done = subprocess.run([self.args.hodo, *words], capture_output=True, text=True, env=env, input=feed,
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
