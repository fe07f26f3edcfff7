#include "step_file.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <fstream>

#include "hodo/capture/pmu.h"
#include "hodo/image/elf.h"
#include "hodo/relay/clock.h"
#include "run/process_maps.h"

namespace hodo::capture {
namespace {

// Records of a thread that wait before they are written.
constexpr std::size_t kWaiting = 4096;

}  // namespace

perfdata::Stamp StepFile::stamp(pid_t pid, pid_t tid) const {
  return {.pid = pid, .tid = tid, .time = relay::now()};
}

Status StepFile::write_name(pid_t pid, pid_t tid, bool exec) {
  const auto name = read_small_file(fmt::format("/proc/{}/comm", tid)).value_or("");
  return writer_.comm({.pid = pid, .tid = tid, .comm = name, .exec = exec}, stamp(pid, tid));
}

Status StepFile::begin_thread(pid_t pid, pid_t tid, pid_t parent_pid, pid_t parent_tid) {
  const auto [stream, fresh] = streams_.try_emplace(tid);
  if (fresh) stream->second.idx = static_cast<std::uint32_t>(streams_.size() - 1);
  pids_[tid] = pid;
  if (!processes_.contains(pid)) {
    ++process_count_;
    // A forked child has its parent's memory.
    const auto parent = processes_.find(parent_pid);
    processes_[pid] = parent != processes_.end() ? parent->second : Process();
  }
  Status status;
  if (parent_pid != 0) {
    status = writer_.fork(
        {.pid = pid, .ppid = parent_pid, .tid = tid, .ptid = parent_tid, .time = relay::now()},
        stamp(pid, tid));
  }
  return status ? writer_.itrace_start({.pid = pid, .tid = tid}, stamp(pid, tid)) : status;
}

Status StepFile::exec(pid_t pid, pid_t tid) {
  if (Status status = write_stream(pid, tid); !status) return status;
  processes_[pid] = Process();
  if (Status status = write_name(pid, tid, true); !status) return status;
  return refresh_mappings(pid, tid);
}

Status StepFile::end_thread(pid_t pid, pid_t tid) {
  if (Status status = write_stream(pid, tid); !status) return status;
  pids_.erase(tid);
  if (std::ranges::none_of(pids_, [&](const auto& one) { return one.second == pid; })) {
    processes_.erase(pid);
  }
  return writer_.exit({.pid = pid, .ppid = pid, .tid = tid, .ptid = pid, .time = relay::now()},
                      stamp(pid, tid));
}

Status StepFile::refresh_mappings(pid_t pid, pid_t tid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  std::map<std::uint64_t, Mapped> now;
  Process& process = processes_[pid];
  for (std::string line; std::getline(maps, line);) {
    auto found = parse_maps_line(line);
    if (!found) continue;
    perfdata::Mmap& mmap = found->mmap;
    const bool file = found->path.starts_with('/');
    const Mapped mapped{mmap.address, mmap.address + mmap.size, mmap.prot, file};
    now[mmap.address] = mapped;
    const auto known = process.mapped.find(mmap.address);
    if (known != process.mapped.end() && known->second == mapped) continue;
    if (found->path.empty()) found->path = "//anon";  // as the kernel calls it in such records
    const bool area = found->path == "//anon" || found->path == "[stack]" ||
                      found->path == "[heap]" || found->path == "[vdso]" ||
                      found->path == "[uprobes]";
    if (!file && !area) continue;
    // What ran until here ran in the old mappings.
    if (Status status = write_stream(pid, tid); !status) return status;
    const auto [id, fresh] = build_ids_.try_emplace(found->path);
    if (fresh && file) {
      if (auto elf = image::read_elf_file(found->path)) id->second = std::move(elf->build_id);
    }
    mmap.pid = pid;
    mmap.tid = tid;
    mmap.path = found->path;
    mmap.build_id.size = static_cast<std::uint8_t>(std::min<std::size_t>(id->second.size(), 20));
    std::copy_n(id->second.begin(), mmap.build_id.size, mmap.build_id.bytes.begin());
    if (Status status = writer_.mmap(mmap, stamp(pid, tid)); !status) return status;
    // Code there is kept as it runs; what was kept is replaced by the mapping.
    process.kept.erase(process.kept.lower_bound(mapped.start),
                       process.kept.lower_bound(mapped.end));
  }
  process.mapped = std::move(now);
  return {};
}

bool StepFile::in_file(pid_t pid, std::uint64_t address) const {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return false;
  const Process& process = found->second;
  auto next = process.mapped.upper_bound(address);
  if (next == process.mapped.begin()) return false;
  const Mapped& mapped = std::prev(next)->second;
  return mapped.file && address < mapped.end;
}

Status StepFile::see_code(pid_t pid, pid_t tid, const SteppedInsn& insn) {
  Process& process = processes_[pid];
  if (in_file(pid, insn.address)) return {};
  const std::span<const std::uint8_t> bytes(insn.bytes.data(), insn.insn.length);
  std::vector<std::uint8_t>& kept = process.kept[insn.address];
  if (std::ranges::equal(kept, bytes)) return {};
  kept.assign(bytes.begin(), bytes.end());
  if (Status status = write_stream(pid, tid); !status) return status;
  return writer_.code(insn.address, bytes, stamp(pid, tid));
}

Status StepFile::branch(pid_t pid, pid_t tid, std::uint64_t from, std::uint64_t to) {
  Stream& stream = streams_[tid];
  stream.records.push_back({from, to, hw::bts_flags::kPredicted});
  return stream.records.size() < kWaiting ? Status() : write_stream(pid, tid);
}

Status StepFile::write_stream(pid_t pid, pid_t tid) {
  Stream& stream = streams_[tid];
  if (stream.records.empty()) return {};
  const std::span<const std::uint8_t> bytes(
      reinterpret_cast<const std::uint8_t*>(stream.records.data()),
      stream.records.size() * sizeof(hw::BtsRecord));
  const std::uint64_t size = writer_.auxtrace_size(bytes.size());
  Status status = writer_.aux({.offset = stream.offset, .size = size, .flags = 0}, stamp(pid, tid));
  if (!status) return status;
  status = writer_.auxtrace({.offset = stream.offset, .idx = stream.idx, .tid = tid},
                            std::span(&bytes, 1));
  stream.offset += size;
  trace_bytes_ += bytes.size();
  stream.records.clear();
  return status;
}

Status StepFile::flush() {
  for (const auto& [tid, pid] : pids_) {
    if (Status status = write_stream(pid, tid); !status) return status;
  }
  return {};
}

}  // namespace hodo::capture
