"""Greenlets of gevent that wait for each other, exceptions across them, callbacks of cffi."""
import cffi, gevent
from gevent import pool, queue, threadpool
q = queue.Queue()
def producer():
    for i in range(5):
        q.put(i); gevent.sleep(0)
    raise ValueError("producer")
def consumer():
    out = []
    try:
        while True: out.append(q.get(timeout=0.2))
    except queue.Empty: return sum(out)
p, c = gevent.spawn(producer), gevent.spawn(consumer)
gevent.joinall([p, c])
print(type(p.exception).__name__, c.value)
print(sorted(pool.Pool(3).map(lambda x: x * x, range(6))))
g = gevent.spawn(lambda: gevent.sleep(10)); gevent.sleep(0); g.kill(); print(g.dead)
print(threadpool.ThreadPool(2).apply(lambda: 42))
ffi = cffi.FFI()
ffi.cdef("void qsort(void*, size_t, size_t, int (*)(const void*, const void*));")
a = ffi.new("int[4]", [4, 1, 3, 2])
ffi.dlopen(None).qsort(a, 4, 4, ffi.callback("int(const void*, const void*)", lambda x, y: ffi.cast("int*", x)[0] - ffi.cast("int*", y)[0]))
print(list(a))
