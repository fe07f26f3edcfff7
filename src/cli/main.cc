#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

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

// A standard stream that is closed is nobody else's number: what is said there would come into the
// recording. Using it fails all the same, and a recorded program finds it closed.
void hold_closed_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    const int other_way = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    static_cast<void>(open("/dev/null", other_way | O_CLOEXEC));
  }
}

ssize_t say(void*, const char* text, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t n = write(STDERR_FILENO, text + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(size);
}

// What cannot be said on standard error is no reason to fail: fmt::print() would throw.
void say_what_can_be_said() {
  FILE* patient = fopencookie(nullptr, "w", {.read = {}, .write = &say, .seek = {}, .close = {}});
  if (patient == nullptr) return;
  setvbuf(patient, nullptr, _IONBF, 0);
  stderr = patient;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hodo::cli;
  give_back_what_is_freed();
  find_the_unwinder();
  hold_closed_streams();
  say_what_can_be_said();
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
