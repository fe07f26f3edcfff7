import asyncio, contextlib, ctypes, faulthandler, itertools, json, os, pickle, re, signal, sqlite3, ssl, sys, threading, weakref, zlib, decimal, multiprocessing

libc = ctypes.CDLL(None)
order = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 5)(5, 1, 4, 2, 3)
libc.qsort(numbers, 5, 4, order(lambda a, b: a[0] - b[0]))
print(list(numbers), libc.strlen(b"hello"))

@ctypes.CFUNCTYPE(None, ctypes.c_int)
def handler(number):
    print("C handler", number)

libc.signal(signal.SIGUSR2, handler)
os.kill(os.getpid(), signal.SIGUSR2)
signal.signal(signal.SIGUSR1, lambda *_: print("handler"))
os.kill(os.getpid(), signal.SIGUSR1)

def deep(n):
    if n == 0:
        raise ValueError("deep")
    return deep(n - 1)

for _ in range(3):
    with contextlib.suppress(ValueError):
        deep(50)
try:
    (lambda f: f(f))(lambda f: f(f))
except RecursionError:
    print("recursion")

async def work(n):
    await asyncio.sleep(0)
    if n == 2:
        raise KeyError(n)
    return n

async def main():
    print(await asyncio.gather(*(work(i) for i in range(4)), return_exceptions=True))

asyncio.run(main())
data = sqlite3.connect(":memory:")
data.create_function("twice", 1, lambda x: x * 2)
data.create_collation("back", lambda a, b: (a < b) - (a > b))
print(data.execute("select twice(x) from (select 1 x union select 2) order by cast(x as text) collate back").fetchall())
print(re.sub("(a)(b)?", lambda m: m[0] * 2, "abac"), zlib.crc32(pickle.dumps([1, {2: json.loads("[3]")}])), decimal.Decimal(2).sqrt())

class A:
    def __del__(self):
        print("del")

weakref.finalize(A(), print, "final")
threads = [threading.Thread(target=deep, args=(0,)) for _ in range(2)]
threading.excepthook = lambda a: print("thread", a.exc_type.__name__)
for t in threads:
    t.start()
for t in threads:
    t.join()
if os.fork() == 0:
    os._exit(0)
os.wait()
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(abs, [-1, -2]))
def gen():
    try:
        x = yield from itertools.count()
    except GeneratorExit:
        print("closed")
        raise
g = gen(); next(g); next(g); g.close()
