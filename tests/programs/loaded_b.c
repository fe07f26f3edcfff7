// Loaded by dlopen_loop: the same function with other code.
int value(int n);
int value(int n) { return n > 0 ? value(n - 1) + 2 : 1; }
