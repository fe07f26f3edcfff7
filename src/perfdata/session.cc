#include <algorithm>

#include "hodo/perfdata/model.h"
#include "session_builder.h"
#include "session_impl.h"

namespace hodo::perfdata {
namespace {

// Of several lives of one number, in order of appearance: the last that began by `time`, the first
// where none had.
template <class Life>
const Life* life_at(const std::vector<Life>& lives, const std::vector<std::uint32_t>& candidates,
                    std::uint64_t time) {
  const Life* best = &lives[candidates.front()];
  for (const auto index : candidates) {
    if (lives[index].start <= time) best = &lives[index];
  }
  return best;
}

}  // namespace

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::load(const Reader& reader) {
  return Session(SessionBuilder(reader).build());
}

const Reader& Session::reader() const { return *impl_->reader; }
const FileFacts& Session::facts() const { return impl_->reader->facts(); }
bool Session::finished() const { return impl_->reader->finished(); }
TraceKind Session::trace() const { return impl_->trace; }
const PtConfig& Session::pt() const { return impl_->pt; }
const std::vector<Process>& Session::processes() const { return impl_->processes; }
const std::vector<Thread>& Session::threads() const { return impl_->threads; }
const std::vector<File>& Session::files() const { return impl_->files; }
const std::vector<KeptCode>& Session::kept() const { return impl_->kept; }
const std::vector<Mapping>& Session::kernel_mappings() const { return impl_->kernel; }
const std::vector<AuxQueue>& Session::queues() const { return impl_->queues; }
const std::map<std::int32_t, std::vector<OnCpu>>& Session::on_cpu() const { return impl_->on_cpu; }
const std::vector<LostRecords>& Session::lost() const { return impl_->lost; }
TimeConversion Session::trace_clock() const {
  return trace() == TraceKind::intel_pt ? pt().time : TimeConversion{};
}
const std::map<RecordType, std::uint64_t>& Session::counts() const { return impl_->counts; }
const std::vector<Damage>& Session::damages() const { return impl_->damages.kept(); }
std::uint64_t Session::damage_count() const { return impl_->damages.count(); }
std::uint64_t Session::first_time() const { return impl_->first_time; }
std::uint64_t Session::last_time() const { return impl_->last_time; }
std::uint64_t Session::branch_stacks() const { return impl_->branch_stacks; }

const Process* Session::process_at(std::int32_t pid, std::uint64_t time) const {
  const auto it = impl_->processes_by_pid.find(pid);
  if (it == impl_->processes_by_pid.end()) return nullptr;
  return life_at(impl_->processes, it->second, time);
}

const Thread* Session::thread_at(std::int32_t tid, std::uint64_t time) const {
  const auto it = impl_->threads_by_tid.find(tid);
  if (it == impl_->threads_by_tid.end()) return nullptr;
  return life_at(impl_->threads, it->second, time);
}

OnCpu Session::running(std::int32_t cpu, std::uint64_t time) const {
  const auto it = impl_->on_cpu.find(cpu);
  if (it == impl_->on_cpu.end()) return {};
  const auto& timeline = it->second;
  const auto next = std::ranges::upper_bound(timeline, time, {}, &OnCpu::from);
  return next == timeline.begin() ? OnCpu{} : *std::prev(next);
}

std::optional<Sample> BranchStacks::next() {
  while (const auto record = cursor_.next()) {
    const auto* sample = std::get_if<Sample>(&record->body);
    if (sample != nullptr && sample->has_branches) return *sample;
  }
  return std::nullopt;
}

}  // namespace hodo::perfdata
