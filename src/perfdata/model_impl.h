// What a Model keeps: filled by ModelBuilder, asked through Model.
#pragma once

#include <deque>
#include <unordered_map>

#include "damage_log.h"
#include "hodo/perfdata/model.h"

namespace hodo::perfdata {

struct Model::Impl {
  explicit Impl(const Reader& in) : reader(&in) {}

  const Reader* reader;
  TraceKind trace = TraceKind::none;
  PtConfig pt;
  std::vector<Process> processes;
  std::vector<Thread> threads;
  std::vector<File> files;
  std::vector<KeptCode> kept;
  std::deque<std::vector<std::uint8_t>> code;  // what KeptCode::bytes points to
  std::vector<Mapping> kernel;
  std::vector<AuxQueue> queues;
  std::map<std::int32_t, std::vector<OnCpu>> on_cpu;
  std::vector<LostRecords> lost;
  std::map<RecordType, std::uint64_t> counts;
  DamageLog damages;
  std::uint64_t first_time = 0, last_time = 0;
  std::uint64_t branch_stacks = 0;
  std::unordered_map<std::int32_t, std::vector<std::uint32_t>> processes_by_pid, threads_by_tid;
};

}  // namespace hodo::perfdata
