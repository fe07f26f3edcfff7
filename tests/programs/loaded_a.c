// Loaded by dlopen_loop: a loop.
int value(int n);
int value(int n) {
  volatile int sum = 0;
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}
