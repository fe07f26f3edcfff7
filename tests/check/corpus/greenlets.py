# Greenlets: stacks that are copied away and back.
from greenlet import GreenletExit, getcurrent, greenlet

def ping(n):
    for i in range(n):
        got = pong_.switch(i)
    return got

def pong(x):
    while True:
        x = getcurrent().parent.switch(x * 2) if x > 8 else ping_.switch(x + 1)

ping_, pong_ = greenlet(ping), greenlet(pong)
print(ping_.switch(5))

def fails():
    raise KeyError("through a switch")

try:
    greenlet(fails).switch()
except KeyError as e:
    print(e)

def walk(tree, out):
    if isinstance(tree, int):
        out.switch(tree)
    else:
        for t in tree:
            walk(t, out)

def collect(tree):
    me = getcurrent()
    g = greenlet(walk)
    got, out = g.switch(tree, me), []
    while got is not None:
        out.append(got)
        got = g.switch()
    return out

print(collect([1, [2, [3, 4], 5], [[[6]]]]))
g = greenlet(lambda: getcurrent().parent.switch(1))
g.switch()
try:
    print(g.throw(GreenletExit("thrown")))
except GreenletExit:
    pass
gs = [greenlet(lambda i=i: sum(getcurrent().parent.switch() or 0 for _ in range(3)) + i) for i in range(20)]
for _ in range(4):
    for g in gs:
        if not g.dead:
            g.switch()
print(all(g.dead for g in gs))
