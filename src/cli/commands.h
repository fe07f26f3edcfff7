// Every subcommand, one file each. main() calls these in the order in which help lists them.
#pragma once

namespace hodo::cli {

class Program;

void add_record(Program& program);
void add_report(Program& program);
void add_check(Program& program);
void add_explain(Program& program);
void add_crash(Program& program);
void add_show(Program& program);
void add_list(Program& program);
void add_diff(Program& program);
void add_view(Program& program);
void add_branches(Program& program);
void add_calls(Program& program);
void add_coverage(Program& program);
void add_annotate(Program& program);
void add_packets(Program& program);
void add_stats(Program& program);
void add_export(Program& program);
void add_serve(Program& program);
void add_doctor(Program& program);
void add_vm_record(Program& program);
void add_vm_attach(Program& program);
void add_vm_ps(Program& program);
void add_vm_check(Program& program);
void add_vm_demo(Program& program);
void add_completion(Program& program);
void add_help(Program& program);

}  // namespace hodo::cli
