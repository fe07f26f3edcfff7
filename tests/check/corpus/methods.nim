import std/[tables, algorithm]
type A = ref object of RootObj
type B = ref object of A
method f(a: A): int {.base.} = 1
method f(b: B): int = 2
iterator c(n: int): int {.closure.} = (for i in 0..<n: yield i)
var s = 0
for x in @[A(), B()]: s += x.f
for i in c(3): s += i
try: raise newException(ValueError, "x")
except ValueError: inc s
var l = @[3,1,2]; l.sort(proc (a, b: int): int = cmp(a, b))
echo s, l, {"a": 1}.toTable
