#include "hodo/capture/vm_survey.h"

#include <algorithm>
#include <map>
#include <thread>

#include "hodo/guest/running.h"
#include "qemu_machine.h"

namespace hodo::capture {
namespace {

using guest::ProcessorState;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenLooks(10);
constexpr std::uint64_t kTable = 0x000f'ffff'ffff'f000;  // address bits of CR3
constexpr std::uint64_t kPaging = 1ULL << 31;            // CR0.PG

// Every value of CR3 as it was seen, with the registers of the last time.
struct Seen {
  guest::Activity activity;
  ProcessorState last;
};
using SeenSpaces = std::map<std::uint64_t, Seen>;

void note(const ProcessorState& processor, SeenSpaces& spaces) {
  if ((processor.cr0 & kPaging) == 0) return;
  Seen& seen = spaces[processor.cr3 & kTable];
  seen.last = processor;
  if (processor.halted) return;
  (processor.user ? seen.activity.user : seen.activity.kernel) += 1;
  seen.activity.last_ip = processor.ip;
}

// The registers of the last look; `survey` and `spaces` hear of all.
Result<std::vector<ProcessorState>> watch(
    Qmp& qmp, std::chrono::milliseconds duration, guest::Survey& survey, SeenSpaces& spaces,
    const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  const auto start = Clock::now();
  for (;;) {
    auto processors = read_registers(qmp);
    if (!processors) return processors;
    survey.processors = processors->size();
    survey.looks += processors->size();
    for (const ProcessorState& processor : *processors) note(processor, spaces);
    const auto passed = Clock::now() - start;
    if (passed >= duration) return processors;
    progress(static_cast<std::uint64_t>(passed.count()),
             static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count()));
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

// Both halves of an isolated process are one.
void add_activity(guest::Survey& survey, const SeenSpaces& spaces,
                  const std::function<std::uint64_t(std::uint64_t)>& table_of) {
  std::map<std::uint64_t, guest::Activity> sums;
  for (const auto& [cr3, seen] : spaces) {
    guest::Activity& sum = sums[table_of(cr3)];
    sum.cr3 = table_of(cr3);
    sum.user += seen.activity.user;
    sum.kernel += seen.activity.kernel;
    if (seen.activity.last_ip != 0) sum.last_ip = seen.activity.last_ip;
  }
  for (const auto& [cr3, sum] : sums) survey.activity.push_back(sum);
}

void describe_unknown(guest::Survey& survey, const QemuMemory& memory, const SeenSpaces& spaces) {
  add_activity(survey, spaces, [](std::uint64_t cr3) { return cr3; });
  for (const auto& [cr3, seen] : spaces) {
    guest::UnknownSpace space{.cr3 = cr3, .code = {}};
    if (seen.last.long_mode()) space.code = guest::user_code_ranges(memory, seen.last.paging());
    survey.spaces.push_back(std::move(space));
  }
}

}  // namespace

Result<guest::Survey> survey_vm(const std::string& qmp_socket, std::chrono::milliseconds duration,
                                const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  auto qmp = Qmp::connect(qmp_socket);
  if (!qmp) return std::unexpected(qmp.error());
  auto opened = QemuMemory::open(*qmp);
  if (!opened) return std::unexpected(opened.error());
  QemuMemory& memory = **opened;
  guest::Survey survey;
  SeenSpaces spaces;
  const auto processors = watch(*qmp, duration, survey, spaces, progress);
  if (!processors) return std::unexpected(processors.error());
  // The kernel itself stands still while the machine runs; only who runs in it needs a pause.
  const auto running = guest::find_running_kernel(memory, *processors);
  if (memory.error()) return std::unexpected(*memory.error());
  const auto pause = Pause::hold(*qmp);
  if (!pause) return std::unexpected(pause.error());
  memory.forget();
  if (!running) {
    survey.system = running.error().message;
    describe_unknown(survey, memory, spaces);
    return survey;
  }
  survey.system = running->kernel.banner;
  survey.kernel_base = running->kernel.base;
  survey.isolated = running->isolated;
  add_activity(survey, spaces, [&](std::uint64_t cr3) { return running->table_of(cr3); });
  std::vector<std::uint64_t> seen;
  seen.reserve(survey.activity.size());
  for (const auto& activity : survey.activity) seen.push_back(activity.cr3);
  auto census = guest::take_census(memory, *running, seen);
  if (memory.error()) return std::unexpected(*memory.error());
  if (!census) return std::unexpected(census.error());
  survey.census = std::move(*census);
  return survey;
}

}  // namespace hodo::capture
