#include <execinfo.h>
#include <malloc.h>

#include "command.h"
#include "commands.h"

namespace {

// Tables that grow are copied into larger ones, and the old ones go back to the system. By itself
// glibc takes ever larger ones from the heap once one was freed, and what is freed there stays.
void give_back_what_is_freed() {
  constexpr int kLarge = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, kLarge);
}

// Where an exception passes through glibc (std::call_once), it looks for the unwinder the first
// time, and ends the program if it has no memory for that: it might be std::bad_alloc that passes.
void find_the_unwinder() {
  void* frame = nullptr;
  ::backtrace(&frame, 1);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hodo::cli;
  give_back_what_is_freed();
  find_the_unwinder();
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
