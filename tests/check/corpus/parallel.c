// Loops and tasks of OpenMP.
#include <stdio.h>
int main() {
  int s = 0;
#pragma omp parallel for reduction(+ : s)
  for (int i = 0; i < 1000; i++) s += i % 7;
#pragma omp parallel
#pragma omp single
  {
#pragma omp task shared(s)
    s++;
#pragma omp taskwait
  }
  printf("%d\n", s);
}
