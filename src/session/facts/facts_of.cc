#include "facts_of.h"

#include <utility>

#include "recorder_facts.h"

namespace hodo::session {
namespace {

static_assert(kForever == perfdata::kForever && kNoProcess == perfdata::kNone);

std::uint64_t wall_clock(const perfdata::Model& model) {
  const auto& clock = model.facts().clock;
  if (!clock || model.first_time() == 0) return 0;
  return clock->wall_clock_ns + (model.first_time() - clock->clockid_ns);
}

}  // namespace

Facts facts_of(const perfdata::Model& model) {
  const perfdata::FileFacts& file = model.facts();
  RecorderFacts recorder = recorder_facts(file);
  Facts out{.command = file.cmdline,
            .recorder = file.version,
            .hostname = file.hostname,
            .osrelease = file.osrelease,
            .arch = file.arch,
            .cpudesc = file.cpudesc,
            .cpus = file.cpus_online.value_or(0),
            .first_time = model.first_time(),
            .last_time = model.last_time(),
            .wall_clock = wall_clock(model),
            .finished = model.finished(),
            .growing = model.growing(),
            .bytes = model.reader().data_end(),
            .snapshot = model.pt().snapshot || recorder.snapshot,
            .switches = !model.on_cpu().empty(),
            .stacks = model.branch_stacks(),
            .ends = std::move(recorder.ends),
            .thread_ends = std::move(recorder.thread_ends)};
  for (const perfdata::Process& process : model.processes()) {
    out.processes.push_back({.pid = process.pid,
                             .ppid = process.ppid,
                             .start = process.start,
                             .end = process.end,
                             .threads = process.threads,
                             .comm = std::string(process.comm)});
  }
  for (const perfdata::Thread& thread : model.threads()) {
    out.threads.push_back({.pid = thread.pid,
                           .tid = thread.tid,
                           .start = thread.start,
                           .end = thread.end,
                           .comm = std::string(thread.comm())});
  }
  return out;
}

}  // namespace hodo::session
