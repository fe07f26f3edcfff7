#include "thread_sideband.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstring>

#include "hodo/image/elf.h"
#include "recorded_processes.h"

namespace hodo::capture {
namespace {

bool is_file_at(const std::string& path, const relay::MapRecord& map) {
  struct stat st{};
  return stat(path.c_str(), &st) == 0 && st.st_ino == map.inode;
}

// A process with another root says what it sees.
std::string as_seen_here(std::string path, const relay::MapRecord& map, std::int32_t pid,
                         ProcessRoot& root) {
  if (map.inode == 0 || is_file_at(path, map)) return path;
  root.look(pid);
  if (root.path().empty()) return path;
  std::string whole = root.path() + path;
  return is_file_at(whole, map) ? whole : path;
}

}  // namespace

Status ThreadSideband::announce(const relay::Hello& hello) {
  const perfdata::Stamp stamp{
      .pid = hello.pid, .tid = hello.tid, .time = rounds_.time_of(hello.time)};
  Status status;
  if (hello.start == relay::Start::image) {
    status = writer_.comm(
        {.pid = hello.pid, .tid = hello.tid, .comm = name_of(hello.comm), .exec = true}, stamp);
  } else if (hello.start == relay::Start::attached) {
    status = announce_attached(hello, stamp);
  } else {
    status = write_fork(hello.parent_pid, hello.parent_tid, stamp);
  }
  if (!status) return status;
  if (hello.start != relay::Start::thread) held_files_.hold_program(hello.pid);
  return writer_.itrace_start({.pid = hello.pid, .tid = hello.tid}, stamp);
}

Status ThreadSideband::announce_executed(const relay::Hello& hello) {
  return writer_.comm(
      {.pid = hello.pid, .tid = hello.pid, .comm = name_of(hello.comm), .exec = true},
      {.pid = hello.pid, .tid = hello.pid, .time = rounds_.time_of(hello.time)});
}

// As perf does for what runs when it begins: nobody has forked it, or executed anything.
Status ThreadSideband::announce_attached(const relay::Hello& hello, const perfdata::Stamp& stamp) {
  if (hello.tid != hello.pid) {
    const auto status = write_fork(hello.pid, hello.pid, stamp);
    if (!status) return status;
  }
  return writer_.comm({.pid = hello.pid, .tid = hello.tid, .comm = name_of(hello.comm)}, stamp);
}

// Of the thread that the stamp is of.
Status ThreadSideband::write_fork(std::int32_t parent_pid, std::int32_t parent_tid,
                                  const perfdata::Stamp& stamp) {
  return writer_.fork({.pid = stamp.pid,
                       .ppid = parent_pid,
                       .tid = stamp.tid,
                       .ptid = parent_tid,
                       .time = stamp.time},
                      stamp);
}

Status ThreadSideband::write(const relay::Record& record, std::int32_t pid, std::int32_t tid,
                             ProcessRoot& root) {
  const perfdata::Stamp stamp{.pid = pid, .tid = tid, .time = rounds_.time_of(record.header.time)};
  switch (record.header.type) {
    case relay::RecordType::map:
      return write_map(record, stamp, root);
    case relay::RecordType::code: {
      const auto code = relay::fixed_part<relay::CodeRecord>(record);
      held_files_.sent(code.address, stamp);
      return writer_.code(code.address, record.payload, stamp);
    }
    case relay::RecordType::comm:
      return writer_.comm({.pid = pid, .tid = tid, .comm = relay::text_of(record).substr(0, 15)},
                          stamp);
    case relay::RecordType::exit:
      return writer_.exit({.pid = pid, .ppid = pid, .tid = tid, .ptid = pid, .time = stamp.time},
                          stamp);
    default:
      return {};
  }
}

Status ThreadSideband::write_map(const relay::Record& record, const perfdata::Stamp& stamp,
                                 ProcessRoot& root) {
  const auto map = relay::fixed_part<relay::MapRecord>(record);
  std::string path(relay::text_of(record));
  const bool is_file = path.starts_with('/') && !path.starts_with("//");
  if (is_file && held_files_.is_served(makedev(map.major, map.minor), map.inode, stamp.pid)) {
    path = root.path() + path;
  } else if (is_file) {
    path = as_seen_here(std::move(path), map, stamp.pid, root);
  }
  perfdata::Mmap mmap{
      .pid = stamp.pid,
      .tid = stamp.tid,
      .address = map.start,
      .size = map.length,
      .file_offset = map.offset,
      .path = path,
      .prot = map.prot & (PROT_READ | PROT_WRITE | PROT_EXEC),
      .flags = static_cast<std::uint32_t>((map.shared != 0 ? MAP_SHARED : MAP_PRIVATE) |
                                          (map.granted != 0 ? MAP_ANONYMOUS : 0)),
      .maj = map.major,
      .min = map.minor,
      .inode = map.inode};
  mmap.data = (mmap.prot & PROT_EXEC) == 0;
  if (const auto status = held_files_.note(mmap, stamp, root, writer_, rounds_); !status) {
    return status;
  }
  add_build_id(mmap, is_file);
  return writer_.mmap(mmap, stamp);
}

void ThreadSideband::add_build_id(perfdata::Mmap& mmap, bool is_file) {
  if (!is_file) return;
  const std::pair key(std::string(mmap.path), mmap.inode);
  auto known = build_ids_.find(key);
  if (known == build_ids_.end()) {
    const std::string way = held_files_.way_to(mmap);
    if (way.empty()) return;
    auto elf = image::read_elf_file(way);
    known =
        build_ids_.emplace(key, elf ? std::move(elf->build_id) : std::vector<std::uint8_t>()).first;
  }
  const std::vector<std::uint8_t>& id = known->second;
  mmap.build_id.size = static_cast<std::uint8_t>(std::min<std::size_t>(id.size(), 20));
  std::copy_n(id.begin(), mmap.build_id.size, mmap.build_id.bytes.begin());
}

}  // namespace hodo::capture
