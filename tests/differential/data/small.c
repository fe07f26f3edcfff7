/* Something to compile. */
static int square(int x) { return x * x; }
int sum_of_squares(const int* values, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += square(values[i]);
  return sum;
}
