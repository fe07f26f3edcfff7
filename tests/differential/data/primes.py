"""Some work for an interpreter: a sieve, strings, a dictionary, an exception."""


def primes(limit):
    sieve = [True] * limit
    for number in range(2, limit):
        if sieve[number]:
            yield number
            for multiple in range(number * number, limit, number):
                sieve[multiple] = False


words = {}
for prime in primes(600):
    words.setdefault(str(prime)[-1], []).append(prime)
try:
    print(words["4"])
except KeyError as error:
    print("no prime ends in", error)
print({key: len(value) for key, value in sorted(words.items())})
