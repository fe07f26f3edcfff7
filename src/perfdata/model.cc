#include "hodo/perfdata/model.h"

#include <linux/perf_event.h>

#include <algorithm>

#include "model_builder.h"
#include "model_impl.h"

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

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Result<Model> Model::load(const Reader& reader) { return Model(ModelBuilder(reader).build()); }

const Reader& Model::reader() const { return *impl_->reader; }
const FileFacts& Model::facts() const { return impl_->reader->facts(); }
bool Model::finished() const { return impl_->reader->finished(); }
bool Model::growing() const { return impl_->reader->growing(); }
TraceKind Model::trace() const {
  if (impl_->trace != TraceKind::none) return impl_->trace;
  // Asked for is enough: a program may end before the first sample.
  const bool stacks = std::ranges::any_of(impl_->reader->attrs(), [](const auto& attr) {
    return (attr.attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0;
  });
  return stacks ? TraceKind::branch_stacks : TraceKind::none;
}
const PtConfig& Model::pt() const { return impl_->pt; }
const std::vector<Process>& Model::processes() const { return impl_->processes; }
const std::vector<Thread>& Model::threads() const { return impl_->threads; }
const std::vector<File>& Model::files() const { return impl_->files; }
const std::vector<KeptCode>& Model::kept() const { return impl_->kept; }
const std::vector<Mapping>& Model::kernel_mappings() const { return impl_->kernel; }
const std::vector<AuxQueue>& Model::queues() const { return impl_->queues; }
const std::map<std::int32_t, std::vector<OnCpu>>& Model::on_cpu() const { return impl_->on_cpu; }
const std::vector<LostRecords>& Model::lost() const { return impl_->lost; }
TimeConversion Model::trace_clock() const {
  return trace() == TraceKind::intel_pt ? pt().time : TimeConversion{};
}
const std::map<RecordType, std::uint64_t>& Model::counts() const { return impl_->counts; }
const std::vector<Damage>& Model::damages() const { return impl_->damages.kept(); }
std::uint64_t Model::damage_count() const { return impl_->damages.count(); }
std::uint64_t Model::first_time() const { return impl_->first_time; }
std::uint64_t Model::last_time() const { return impl_->last_time; }
std::uint64_t Model::branch_stacks() const { return impl_->branch_stacks; }

const Process* Model::process_at(std::int32_t pid, std::uint64_t time) const {
  const auto it = impl_->processes_by_pid.find(pid);
  if (it == impl_->processes_by_pid.end()) return nullptr;
  return life_at(impl_->processes, it->second, time);
}

const Thread* Model::thread_at(std::int32_t tid, std::uint64_t time) const {
  const auto it = impl_->threads_by_tid.find(tid);
  if (it == impl_->threads_by_tid.end()) return nullptr;
  return life_at(impl_->threads, it->second, time);
}

OnCpu Model::running(std::int32_t cpu, std::uint64_t time) const {
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
