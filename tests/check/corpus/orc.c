// A loop that ORC compiles for this processor when the program runs.
#include <orc/orc.h>
#include <stdio.h>

int main(void) {
  orc_init();
  OrcProgram* program = orc_program_new_dss(4, 4, 4);
  orc_program_append_str(program, "addl", "d1", "s1", "s2");
  if (ORC_COMPILE_RESULT_IS_FATAL(orc_program_compile(program))) return 1;
  int a[100], b[100], sums[100], all = 0;
  for (int i = 0; i < 100; ++i) a[i] = i, b[i] = i * i;
  OrcExecutor* executor = orc_executor_new(program);
  orc_executor_set_n(executor, 100);
  orc_executor_set_array_str(executor, "s1", a);
  orc_executor_set_array_str(executor, "s2", b);
  orc_executor_set_array_str(executor, "d1", sums);
  orc_executor_run(executor);
  for (int i = 0; i < 100; ++i) all += sums[i];
  printf("%d\n", all);
  orc_executor_free(executor);
  orc_program_free(program);
  return 0;
}
