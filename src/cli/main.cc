#include "command.h"
#include "commands.h"

int main(int argc, char** argv) {
  using namespace hodo::cli;
  Program program;
  add_record(program);
  add_report(program);
  add_check(program);
  add_explain(program);
  add_crash(program);
  add_show(program);
  add_list(program);
  add_diff(program);
  add_view(program);
  add_branches(program);
  add_calls(program);
  add_coverage(program);
  add_annotate(program);
  add_packets(program);
  add_stats(program);
  add_export(program);
  add_serve(program);
  add_doctor(program);
  add_vm_record(program);
  add_vm_attach(program);
  add_vm_ps(program);
  add_vm_check(program);
  add_vm_demo(program);
  add_completion(program);
  add_help(program);
  return program.run(argc, argv);
}
