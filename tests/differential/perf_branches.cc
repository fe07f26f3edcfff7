// Takes the branches that perf decodes before it makes text of them, which would take it five times
// as long:
//
//     perf script --itrace=b -F tid,ip --dlfilter libperf_branches.so --dlarg FILE -i RECORDING
//
// writes them to FILE (thread_lists.h). Kinds are what `perf script -F flags` would say
// (sample_flags_to_name() of perf's tools/perf/util/trace-event-scripting.c), in the words of `hodo
// branches`.
extern "C" {
#include <perf/perf_dlfilter.h>
}

#include <cstdint>
#include <cstdio>

#include "thread_lists.h"

#define HODO_FOR_PERF extern "C" __attribute__((visibility("default")))

HODO_FOR_PERF struct perf_dlfilter_fns perf_dlfilter_fns;
struct perf_dlfilter_fns perf_dlfilter_fns = {};  // which perf fills in

namespace {

using lists::kind_number;

enum Flag : __u32 {
  kBranch = PERF_DLFILTER_FLAG_BRANCH,
  kCall = PERF_DLFILTER_FLAG_CALL,
  kReturn = PERF_DLFILTER_FLAG_RETURN,
  kConditional = PERF_DLFILTER_FLAG_CONDITIONAL,
  kSystem = PERF_DLFILTER_FLAG_SYSCALLRET,
  kAsync = PERF_DLFILTER_FLAG_ASYNC,
  kInterrupt = PERF_DLFILTER_FLAG_INTERRUPT,
  kBegin = PERF_DLFILTER_FLAG_TRACE_BEGIN,
  kEnd = PERF_DLFILTER_FLAG_TRACE_END,
};

// Of what stays where it was traced.
std::uint64_t plain_kind(__u32 flags) {
  switch (flags) {
    case kBranch | kConditional:
      return kind_number("cond");
    case kBranch:
      return kind_number("jmp");
    case kBranch | kCall:
      return kind_number("call");
    case kBranch | kReturn:
      return kind_number("ret");
    case kBranch | kCall | kSystem:
      return kind_number("syscall");
    case kBranch | kReturn | kSystem:
      return kind_number("sysret");
    case kBranch | kCall | kInterrupt:
      return kind_number("int");
    case kBranch | kReturn | kInterrupt:
      return kind_number("iret");
    case kBranch | kAsync:
      return kind_number("end");
    case kBranch | kCall | kAsync | kInterrupt:
      return kind_number("irq");  // its handler is traced
    default:
      return kind_number("other");
  }
}

std::uint64_t kind(__u32 flags) {
  if (flags == (kBranch | kBegin)) return kind_number("begin");
  if (flags == (kBranch | kEnd)) return kind_number("end");
  if ((flags & kEnd) == 0) return plain_kind(flags);
  const std::uint64_t last = plain_kind(flags & ~static_cast<__u32>(kEnd));
  return last == kind_number("irq") ? kind_number("end") : last;
}

struct State {
  std::FILE* file;
  lists::ThreadLists found = {};
};

}  // namespace

HODO_FOR_PERF int start(void** data, void* context) {
  int count = 0;
  char** const words = perf_dlfilter_fns.args(context, &count);
  std::FILE* const file = count == 1 ? std::fopen(words[0], "wb") : nullptr;
  if (file == nullptr) return -1;
  *data = new State{file};
  return 0;
}

// 1: perf does nothing more with it.
HODO_FOR_PERF int filter_event_early(void* data, const struct perf_dlfilter_sample* sample,
                                     void* /*context*/) {
  static_cast<State*>(data)->found.add(sample->tid,
                                       {kind(sample->flags), sample->ip, sample->addr});
  return 1;
}

HODO_FOR_PERF int stop(void* data, void* /*context*/) {
  auto* const state = static_cast<State*>(data);
  const bool written = state->found.write(state->file);
  const bool closed = std::fclose(state->file) == 0;
  delete state;
  return written && closed ? 0 : -1;
}
