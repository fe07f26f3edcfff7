# On a terminal of characters.
set terminal dumb
plot sin(x), x**2
