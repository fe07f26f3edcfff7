#include "model_builder.h"

#include <sys/mman.h>

#include <algorithm>

#include "file_format.h"
#include "hodo/perfdata/sums.h"
#include "lives.h"
#include "pt_config.h"

namespace hodo::perfdata {

ModelBuilder::ModelBuilder(const Reader& reader)
    : out_(std::make_unique<Model::Impl>(reader)), aux_(out_->damages) {}

std::unique_ptr<Model::Impl> ModelBuilder::build() {
  const Reader& reader = *out_->reader;
  for (const auto& damage : reader.damages()) out_->damages.add(damage.offset, damage.what);
  auto cursor = reader.records();
  const std::optional<std::uint32_t> written = reader.facts().records_sum;
  std::uint32_t sum = 0;
  while (const auto record = cursor.next()) {
    if (written) sum = crc32c(record->raw.bytes, sum);
    visit(*record);
  }
  out_->damages.take(cursor);
  if (written.value_or(sum) != sum) {
    out_->damages.add(0,
                      "the records are not those that were written: what they say of processes, "
                      "mappings and code may be wrong");
  }
  find_config();
  use_header_build_ids();
  replay();
  sort_switches();
  out_->queues = aux_.finish(reader, out_->pt.snapshot);
  index_lives();
  return std::move(out_);
}

void ModelBuilder::visit(const Record& record) {
  ++out_->counts[record.raw.type];
  if (const auto time = record.id.time.value_or(0); time != 0) {
    out_->first_time = out_->first_time == 0 ? time : std::min(out_->first_time, time);
    out_->last_time = std::max(out_->last_time, time);
  }
  std::visit([&](const auto& body) { on(record, body); }, record.body);
}

// What perf made up for processes that were there before has time 0 and comes first. Records
// without any time happen where they stand.
std::uint64_t ModelBuilder::time_of(const Record& record) const {
  return record.id.time.value_or(out_->last_time);
}

void ModelBuilder::add(const Record& record, std::uint64_t time, Event event) {
  if (events_.size() == kMaxEvents) {
    out_->damages.add(record.raw.offset, "too many processes and mappings: this one is left out");
    return;
  }
  event.time = time;
  events_.push_back(event);
}

std::uint32_t ModelBuilder::name_index(std::string_view name) {
  const auto [it, added] =
      name_indices_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
  if (added) names_.emplace_back(name);
  return it->second;
}

std::uint32_t ModelBuilder::file_index(const Mmap& mmap) {
  // One path can be two files at different times.
  std::string key(mmap.path);
  key.push_back('\0');
  const auto append = [&key](const auto& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  append(mmap.maj);
  append(mmap.min);
  append(mmap.inode);
  append(mmap.build_id.size);
  append(mmap.build_id.bytes);
  const auto [it, added] =
      file_indices_.try_emplace(std::move(key), static_cast<std::uint32_t>(out_->files.size()));
  if (added) {
    out_->files.push_back({.path = std::string(mmap.path),
                           .build_id = mmap.build_id,
                           .maj = mmap.maj,
                           .min = mmap.min,
                           .inode = mmap.inode});
  }
  return it->second;
}

void ModelBuilder::on(const Record& record, const Comm& comm) {
  // The kernel has at most 15 characters; longer ones would multiply with hostile forks.
  const auto name = name_index(comm.comm.substr(0, 63));
  add(record, time_of(record), {0, CommEvent{comm.pid, comm.tid, name, comm.exec}});
}

void ModelBuilder::on(const Record& record, const Task& task) {
  const auto time = task.time != 0 ? task.time : time_of(record);
  if (record.raw.type == RecordType::exit) {
    add(record, time, {0, ExitEvent{task}});
  } else {
    // perf describes processes that were there before by a FORK with this bit and all mappings.
    const bool copies = !(record.raw.misc & PERF_RECORD_MISC_FORK_EXEC);
    add(record, time, {0, ForkEvent{task, copies}});
  }
}

void ModelBuilder::on(const Record& record, const Mmap& mmap) {
  Mapping mapping;
  mapping.address = mmap.address;
  mapping.size = mmap.size;
  mapping.file_offset = mmap.file_offset;
  mapping.from = time_of(record);
  mapping.file = file_index(mmap);
  mapping.prot = mmap.prot;
  mapping.shared = (mmap.flags & MAP_TYPE) == MAP_SHARED;
  mapping.executable = !mmap.data && (mmap.prot & PROT_EXEC);
  if ((mmap.flags & MAP_ANONYMOUS) != 0) {  // the kernel never says so
    mapping.granted_to = mmap.tid;
    mapping.granted_at = mapping.from;
  }
  // perf writes the kernel's own mappings with whatever protection, or none.
  const auto mode = record.raw.misc & PERF_RECORD_MISC_CPUMODE_MASK;
  const bool kernel = mmap.pid == -1 || mode == PERF_RECORD_MISC_KERNEL;
  if (kernel) mapping.executable = true;
  add(record, mapping.from, {0, MapEvent{kernel ? -1 : mmap.pid, mapping}});
}

void ModelBuilder::on(const Record& record, const TextPoke& poke) {
  if (poke.new_bytes.empty()) return;
  const auto mode = record.raw.misc & PERF_RECORD_MISC_CPUMODE_MASK;
  KeptCode code;
  code.pid = mode == PERF_RECORD_MISC_USER ? record.id.pid : -1;
  code.address = poke.address;
  code.time = time_of(record);
  if (poke.new_bytes.size() > kMostCode - code_bytes_) {
    out_->damages.add(record.raw.offset, "too much code in the recording: this is left out");
    return;
  }
  code_bytes_ += poke.new_bytes.size();
  code.bytes = out_->code.emplace_back(poke.new_bytes.begin(), poke.new_bytes.end());
  if (!record.raw.decompressed) {
    code.file_offset = record.raw.offset +
                       static_cast<std::uint64_t>(poke.new_bytes.data() - record.raw.bytes.data());
  }
  const auto index = static_cast<std::uint32_t>(out_->kept.size());
  out_->kept.push_back(code);
  add(record, code.time, {0, KeepEvent{index}});
}

void ModelBuilder::add_on_cpu(const Record& record, OnCpu who) {
  if (record.id.cpu < 0) return;
  if (switches_ == kMaxSwitches) {
    out_->damages.add(record.raw.offset, "too many context switches: this one is left out");
    return;
  }
  ++switches_;
  out_->on_cpu[record.id.cpu].push_back(who);
}

void ModelBuilder::on(const Record& record, const Switch& change) {
  if (!record.id.time) return;
  const bool wide = record.raw.type == RecordType::switch_cpu_wide;
  OnCpu who{.from = *record.id.time};
  if (!change.out) {
    who.pid = record.id.pid;
    who.tid = record.id.tid;
  } else if (wide) {
    who.pid = change.next_prev_pid;
    who.tid = change.next_prev_tid;
  }
  add_on_cpu(record, who);
}

void ModelBuilder::on(const Record& record, const ItraceStart& start) {
  add_on_cpu(record, {.from = time_of(record), .pid = start.pid, .tid = start.tid});
}

void ModelBuilder::on(const Record& record, const AuxtraceInfo& info) {
  if (info.type != kAuxtraceIntelPt && info.type != kAuxtraceIntelBts) {
    out_->damages.add(record.raw.offset,
                      "a trace of a kind that is not x86's: type " + std::to_string(info.type));
    return;
  }
  const bool pt = info.type == kAuxtraceIntelPt;
  auto config = pt ? pt_config_of(info) : bts_config_of(info);
  if (!config) {
    out_->damages.add(record.raw.offset, config.error().message);
    return;
  }
  out_->trace = pt ? TraceKind::intel_pt : TraceKind::intel_bts;
  if (!pt) aux_.keep_handovers();
  out_->pt = std::move(*config);
}

void ModelBuilder::on(const Record&, const TimeConv& conversion) {
  if (out_->trace != TraceKind::none) return;  // AUXTRACE_INFO has it too
  auto& time = out_->pt.time;
  time.valid = conversion.cap_user_time_zero && conversion.shift < 64 && conversion.mult != 0 &&
               conversion.mult <= UINT32_MAX;
  if (!time.valid) return;
  time.shift = static_cast<std::uint16_t>(conversion.shift);
  time.mult = static_cast<std::uint32_t>(conversion.mult);
  time.zero = conversion.zero;
}

void ModelBuilder::add_lost(const Record& record, std::uint64_t count) {
  if (out_->lost.size() == kMaxEvents) return;
  out_->lost.push_back({record.id.time.value_or(0), count, record.id.cpu, record.raw.offset});
}

void ModelBuilder::on(const Record&, const Sample& sample) {
  if (sample.has_branches && !sample.branches.empty()) ++out_->branch_stacks;
}

void ModelBuilder::find_config() {
  if (out_->trace != TraceKind::intel_pt) return;
  out_->pt.config = 0;
  for (const auto& attr : out_->reader->attrs()) {
    if (attr.attr.type != out_->pt.pmu_type) continue;
    out_->pt.config = attr.attr.config;
    return;
  }
  out_->damages.add(0, "the file describes no Intel PT event: how it was configured is unknown");
}

void ModelBuilder::use_header_build_ids() {
  std::unordered_map<std::string_view, const FileBuildId*> by_path;
  for (const auto& entry : out_->reader->facts().build_ids) by_path.emplace(entry.path, &entry);
  for (auto& file : out_->files) {
    const auto it = by_path.find(file.path);
    if (file.build_id.size == 0 && it != by_path.end()) file.build_id = it->second->build_id;
  }
}

void ModelBuilder::replay() {
  // The kernel's buffers are per cpu: records lie in the file in no order of time.
  std::ranges::stable_sort(events_, {}, &Event::time);
  Lives lives(out_->kept, out_->damages);
  struct Apply {
    Lives& lives;
    const std::vector<std::string>& names;
    std::uint64_t time;
    void operator()(const CommEvent& e) { lives.comm(time, e.pid, e.tid, names[e.name], e.exec); }
    void operator()(const ForkEvent& e) { lives.fork(time, e.task, e.copies); }
    void operator()(const ExitEvent& e) { lives.exit(time, e.task); }
    void operator()(const MapEvent& e) { lives.map(e.pid, e.mapping); }
    void operator()(const KeepEvent& e) { lives.keep(e.index); }
  };
  for (const auto& event : events_) std::visit(Apply{lives, names_, event.time}, event.what);
  events_ = {};
  lives.finish(out_->processes, out_->threads, out_->kernel);
}

void ModelBuilder::sort_switches() {
  for (auto& [cpu, timeline] : out_->on_cpu) {
    std::ranges::stable_sort(timeline, {}, &OnCpu::from);
    // An out record names who comes next, the in record says it again.
    const auto same = std::ranges::unique(
        timeline, [](const OnCpu& a, const OnCpu& b) { return a.pid == b.pid && a.tid == b.tid; });
    timeline.erase(same.begin(), same.end());
  }
}

void ModelBuilder::index_lives() {
  for (std::uint32_t i = 0; i < out_->processes.size(); ++i) {
    out_->processes_by_pid[out_->processes[i].pid].push_back(i);
  }
  for (std::uint32_t i = 0; i < out_->threads.size(); ++i) {
    out_->threads_by_tid[out_->threads[i].tid].push_back(i);
  }
  for (auto& queue : out_->queues) {
    const auto it = out_->threads_by_tid.find(queue.tid);
    if (it != out_->threads_by_tid.end()) queue.pid = out_->threads[it->second.back()].pid;
  }
}

}  // namespace hodo::perfdata
