# Calls, dictionaries, sorting: what an interpreter does all day.
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


print(fib(29))
counts = {}
for i in range(4_000_000):
    counts[i % 1000] = counts.get(i % 1000, 0) + i
print(sum(counts.values()))
print(sum(sorted((x * 7919) % 100_003 for x in range(400_000))[:100]))
