# Functions that LLVM compiles, one of which raises.
from numba import njit


@njit
def total(n):
    s = 0
    for i in range(n):
        s += i % 7
    return s


@njit
def small(x):
    if x > 3:
        raise ValueError("too large")
    return x


print(total(1000))
try:
    small(5)
except ValueError as error:
    print(error)
