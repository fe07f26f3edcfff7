#include "running_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "hodo/capture/pmu.h"
#include "hodo/image/elf.h"
#include "run/process_maps.h"

namespace hodo::capture {
namespace {

std::string name_of(pid_t pid, pid_t tid) {
  std::ifstream in(fmt::format("/proc/{}/task/{}/comm", pid, tid));
  std::string name;
  std::getline(in, name);
  return name;
}

Status write_mapping(perfdata::Writer& writer, const MapsLine& line, const perfdata::Stamp& stamp) {
  perfdata::Mmap mmap = line.mmap;
  mmap.pid = stamp.pid;
  mmap.tid = stamp.tid;
  mmap.path = line.path.empty() ? std::string_view("//anon") : std::string_view(line.path);
  if (line.path.starts_with('/') && !line.path.starts_with("//")) {
    if (const auto elf = image::read_elf_file(line.path)) {
      const std::size_t bytes = std::min<std::size_t>(elf->build_id.size(), 20);
      mmap.build_id.size = static_cast<std::uint8_t>(bytes);
      std::copy_n(elf->build_id.begin(), bytes, mmap.build_id.bytes.begin());
    }
  }
  return writer.mmap(mmap, stamp);
}

}  // namespace

Result<RunningProcess> look_at_process(pid_t pid, std::span<const int> only) {
  RunningProcess found{.pid = pid, .threads = {}};
  std::error_code none;
  const std::string tasks = fmt::format("/proc/{}/task", pid);
  bool any = false;
  for (const auto& task : std::filesystem::directory_iterator(tasks, none)) {
    const pid_t tid = std::atoi(task.path().filename().c_str());
    any = any || tid == pid;
    if (only.empty() || std::ranges::find(only, tid) != only.end()) found.threads.push_back(tid);
  }
  if (!any && !found.threads.empty()) {
    return fail(ErrorCode::usage,
                fmt::format("{} is a thread of another process; -p takes that one's number, "
                            "--threads this",
                            pid));
  }
  if (!any) return fail(ErrorCode::not_found, fmt::format("no process has the number {}", pid));
  if (found.threads.empty() && only.empty()) {
    return fail(ErrorCode::not_found, fmt::format("process {} has ended", pid));
  }
  std::ranges::sort(found.threads);
  return found;
}

Status write_running(perfdata::Writer& writer, const RunningProcess& process) {
  const pid_t pid = process.pid;
  for (const pid_t tid : process.threads) {
    const perfdata::Stamp stamp{.pid = pid, .tid = tid, .time = 0, .cpu = 0};
    if (tid != pid) {
      const perfdata::Task fork{.pid = pid, .ppid = pid, .tid = tid, .ptid = pid, .time = 0};
      if (Status done = writer.fork(fork, stamp); !done) return done;
    }
    const std::string name = name_of(pid, tid);
    if (Status done = writer.comm({.pid = pid, .tid = tid, .comm = name}, stamp); !done)
      return done;
  }
  std::ifstream maps(fmt::format("/proc/{}/maps", living_thread(pid)));
  for (std::string line; std::getline(maps, line);) {
    const auto found = parse_maps_line(line);
    if (!found) continue;
    const perfdata::Stamp stamp{.pid = pid, .tid = pid, .time = 0, .cpu = 0};
    if (Status done = write_mapping(writer, *found, stamp); !done) return done;
  }
  return {};
}

}  // namespace hodo::capture
