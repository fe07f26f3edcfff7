// Libraries that a file names without depending on them: one that stands in for its functions
// (DT_FILTER, DT_AUXILIARY), and one that watches the dynamic linker (DT_AUDIT).
#ifdef REAL
int value(void) { return 7; }
#elif defined FILTER
int value(void) { return 0; }
#elif defined AUXILIARY
int another(void) { return 1; }
#elif defined AUDIT
unsigned la_version(unsigned version) { return version; }
#else
#include <stdio.h>
int value(void), another(void);
int main(void) {
  printf("%d %d\n", value(), another());
  return 0;
}
#endif
#ifdef REAL
int another(void) { return 9; }
#endif
