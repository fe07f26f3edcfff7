iterator it(): int {.closure.} =
  for i in 0..3: yield i
proc f(n: int): int =
  if n == 0: raise newException(ValueError, "x")
  f(n-1)+1
for i in 0..4:
  try: discard f(i)
  except ValueError: echo "c"
for x in it(): echo x
