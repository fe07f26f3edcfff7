import std/[sequtils, strutils, algorithm, tables, os, asyncdispatch, threadpool]
type Shape = ref object of RootObj
type Square = ref object of Shape
  s: float
method area(x: Shape): float {.base.} = 0
method area(x: Square): float = x.s * x.s
proc deep(n: int): int =
  defer: discard
  if n == 0: raise newException(ValueError, "deep")
  deep(n - 1) + 1
for i in 0 .. 4:
  try: discard deep(i * 10)
  except ValueError as e: stdout.write e.msg
  finally: stdout.write "f"
let s: Shape = Square(s: 2)
echo s.area, toSeq(1 .. 10).filterIt(it mod 2 == 0).mapIt(it * it).foldl(a + b)
iterator upto(n: int): int {.closure.} =
  for i in 0 ..< n: yield i
let next = upto
for i in 0 .. 2: stdout.write next(3)
proc work(n: int): Future[int] {.async.} =
  await sleepAsync(1)
  if n == 2: raise newException(IOError, "async")
  return n
for i in 1 .. 2:
  try: echo waitFor work(i)
  except IOError as e: echo e.msg.splitLines[0]
var x = @[3, 1, 2]
x.sort(proc (a, b: int): int = cmp(b, a))
var t = initTable[string, proc (x: int): int]()
let base = 4
t["add"] = proc (x: int): int = x + base
echo x, t["add"](1)
try: echo x[10 + paramCount()]
except IndexDefect: echo "index"
