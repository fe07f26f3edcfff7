"""PyPy: continulets, generators, exceptions, callbacks by cffi and ctypes, loops that are compiled."""
import ctypes, sys, threading
from _continuation import continulet
import greenlet

def work(c, n):
    for i in range(n):
        try:
            if c.switch(i) == "throw":
                raise ValueError(i)
        except ValueError:
            pass
    return "end"

cs = [continulet(work, 5) for _ in range(3)]
out = []
while any(c.is_pending() for c in cs):
    out += [c.switch() for c in cs if c.is_pending()]
print(len(out))
def deep(n):
    if n == 0: raise KeyError("deep")
    return deep(n - 1) + 1
hits = 0
for i in range(2000):
    try: deep(i % 20)
    except KeyError: hits += 1
print(hits)
gs = [greenlet.greenlet(lambda x: greenlet.getcurrent().parent.switch(x * 2)) for _ in range(4)]
print([g.switch(i) for i, g in enumerate(gs)])
compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))(lambda a, b: a[0] - b[0])
numbers = (ctypes.c_int * 5)(5, 3, 1, 4, 2)
ctypes.CDLL(None).qsort(numbers, 5, 4, compare)
print(list(numbers))
ts = [threading.Thread(target=lambda: sum(x * x for x in range(20000))) for _ in range(3)]
[t.start() for t in ts]; [t.join() for t in ts]
print(sum(i * i % 7 for i in range(60000)))
