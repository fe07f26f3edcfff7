# A module in C, made here: callbacks, exceptions through C, the GIL let go, an interpreter within.
import threading
import library as native

print(native.apply(lambda x: x + 1, 41))
try:
    native.apply(lambda x: 1 / 0, 1)
except ZeroDivisionError as e:
    print(e)

def down(n):
    return n if n == 0 else native.apply(lambda x: down(x - 1), n)

print(down(100))
try:
    print(native.apply(lambda f: native.apply(f, f), lambda f: native.apply(f, f)))
except RecursionError:
    print("recursion")
print(native.sort([5, 3, 9, 1], lambda a, b: a - b))
try:
    native.sort([5, 3, 9, 1], lambda a, b: [][1])
except IndexError as e:
    print(e)
ts = [threading.Thread(target=native.away, args=(lambda x: x * 2,)) for _ in range(4)]
[t.start() for t in ts]
[t.join() for t in ts]
print(native.inner())
