#include "file_calls.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdint>

#include "channel.h"
#include "code_report.h"
#include "line.h"
#include "lock.h"
#include "passed_call.h"
#include "recording.h"
#include "service.h"
#include "sys.h"

namespace hodo::engine {
namespace {

void hold_file_at(std::uint64_t directory, std::uint64_t path) {
  struct stat file{};
  if (failed(raw_syscall(SYS_newfstatat, static_cast<long>(directory), static_cast<long>(path),
                         reinterpret_cast<long>(&file), AT_SYMLINK_NOFOLLOW))) {
    return;
  }
  constexpr mode_t kMayRun = S_IXUSR | S_IXGRP | S_IXOTH;
  const bool any_may_have_run_it = S_ISREG(file.st_mode) && (file.st_mode & kMayRun) != 0;
  const Locked locked;
  if (any_may_have_run_it) return hold_told_files();
  hold_told_file(file.st_ino);
}

}  // namespace

long unmount_call(ThreadArea& area) {
  const Registers& r = area.registers;
  const long result = passed_on(area);
  if (result != -EBUSY || !is_recorded(area)) return result;
  const long follow = (r.rsi & UMOUNT_NOFOLLOW) != 0 ? AT_SYMLINK_NOFOLLOW : 0;
  struct stat root{};
  if (failed(raw_syscall(SYS_newfstatat, AT_FDCWD, static_cast<long>(r.rdi),
                         reinterpret_cast<long>(&root), follow | AT_NO_AUTOMOUNT)) ||
      !let_go_of_files(root.st_dev)) {
    return result;
  }
  return passed_on(area);
}

long unname_call(ThreadArea& area) {
  const Registers& r = area.registers;
  constexpr auto kHere = static_cast<std::uint64_t>(AT_FDCWD);
  if (!is_recorded(area)) return passed_on(area);
  switch (r.rax) {
    case SYS_unlink:
      hold_file_at(kHere, r.rdi);
      break;
    case SYS_unlinkat:
      hold_file_at(r.rdi, r.rsi);
      break;
    case SYS_rename:
      hold_file_at(kHere, r.rdi);
      hold_file_at(kHere, r.rsi);
      break;
    default:  // renameat, renameat2
      hold_file_at(r.rdi, r.rsi);
      hold_file_at(r.rdx, area.taken[0]);
      break;
  }
  return passed_on(area);
}

long close_call(ThreadArea& area) { return is_line(area.registers.rdi) ? -EBADF : passed_on(area); }

long close_range_call(ThreadArea& area) {  // on both sides of the line
  Registers& r = area.registers;
  const relay::Line kept = line();
  const auto number = static_cast<std::uint32_t>(kept.number);
  const auto first = static_cast<std::uint32_t>(r.rdi);
  const auto last = static_cast<std::uint32_t>(r.rsi);
  if (kept.inode == 0 || first > number || number > last) return passed_on(area);
  const Registers before = r;
  long result = 0;
  if (first < number) {
    r.rsi = number - 1;
    result = passed_on(area);
    r = before;
  }
  if (result == 0 && number < last) {
    r.rdi = number + 1;
    result = passed_on(area);
    r = before;
  }
  return result;
}

long dup_call(ThreadArea& area) {
  if (is_line(area.registers.rsi)) move_line();
  return passed_on(area);
}

}  // namespace hodo::engine
