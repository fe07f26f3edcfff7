# Generators, async, contexts, signals, threads, recursion errors, finalizers, subprocesses, multiprocessing.
import asyncio, contextlib, gc, itertools, multiprocessing, os, signal, subprocess, sys, threading, time, traceback, weakref

def gen(n):
    try:
        for i in range(n):
            got = yield i
            if got:
                yield got
    finally:
        print("closed")

g = gen(5)
next(g)
print(g.send(7))
g.close()
try:
    gen(3).throw(ValueError("into"))
except ValueError as e:
    print(e)

def flat(x):
    for y in x:
        if isinstance(y, list):
            yield from flat(y)
        else:
            yield y

print(list(flat([1, [2, [3, [4]]]])))

async def work(i):
    await asyncio.sleep(0.001 * i)
    if i == 3:
        raise RuntimeError("task")
    return i

async def main():
    print(await asyncio.gather(*(work(i) for i in range(5)), return_exceptions=True))
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(asyncio.sleep(10), 0.01)
    loop = asyncio.get_running_loop()
    print(await loop.run_in_executor(None, sum, range(10)))

asyncio.run(main())

def deep(n):
    return deep(n + 1)

try:
    deep(0)
except RecursionError:
    print("recursion")

def handler(*_):
    raise InterruptedError("signal")

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.02)
try:
    while True:
        sum(range(100))
except InterruptedError as e:
    print(e)
ts = [threading.Thread(target=lambda: [i for i in range(1000)]) for _ in range(4)]
[t.start() for t in ts]
[t.join() for t in ts]
class A: pass
a = A()
weakref.finalize(a, print, "finalized")
del a
gc.collect()
print(subprocess.run(["echo", "sub"], capture_output=True, text=True).stdout)
pid = os.fork()
if pid == 0:
    os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(eval("[x**2 for x in range(5)]"), sorted([3, 1, 2], key=lambda x: -x))
try:
    sorted([1, 2, "x"], key=lambda v: v + 1)
except TypeError:
    print("type")
