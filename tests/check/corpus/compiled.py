# Functions that LLVM compiles, one of which raises.
from numba import njit
@njit
def f(n):
    s=0
    for i in range(n):
        s+=i%7
    return s
print(f(1000))
@njit
def g(x):
    if x>3: raise ValueError("x")
    return x
try: g(5)
except ValueError as e: print(e)
