#include "output.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "sys.h"

namespace hodo::engine {
namespace {

constexpr std::uint64_t kRing = 4 << 20;

std::uint64_t reserve(void* owner, std::uint64_t written) {
  auto& output = *static_cast<Output*>(owner);
  if (written - output.drained > kRing / 2) drain_output(output, written);
  return kRing;
}

std::uint8_t* map_ring() {
  const long memory =
      raw_syscall(SYS_memfd_create, reinterpret_cast<long>("hodo-ring"), MFD_CLOEXEC);
  raw_syscall(SYS_ftruncate, memory, kRing);
  const long at =
      raw_syscall(SYS_mmap, 0, 2 * kRing, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (const long half : {at, at + static_cast<long>(kRing)}) {
    const long got = raw_syscall(SYS_mmap, half, kRing, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_FIXED, memory, 0);
    if (got != half) die("no memory for packets", static_cast<std::uint64_t>(-got));
  }
  raw_syscall(SYS_close, memory);
  return reinterpret_cast<std::uint8_t*>(at);
}

long create(const char* path, long tid) {
  char name[300];
  std::size_t at = 0;
  while (path[at] != 0 && at < sizeof(name) - 24) {
    name[at] = path[at];
    ++at;
  }
  if (tid != 0) {
    char digits[20];
    unsigned count = 0;
    for (; tid != 0; tid /= 10) digits[count++] = static_cast<char>('0' + tid % 10);
    name[at++] = '.';
    while (count > 0) name[at++] = digits[--count];
  }
  name[at] = 0;
  return raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(name),
                     O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

}  // namespace

unit::PtOutput open_output(Output& output, const char* path, long tid) {
  output = Output{};
  output.ring = map_ring();
  if (path[0] != 0) {
    output.file = create(path, tid);
    if (failed(output.file)) {
      die("the output cannot be made", static_cast<std::uint64_t>(-output.file));
    }
  }
  unit::PtOutput made;
  made.base = output.ring;
  made.size = kRing;
  made.reserve = &reserve;
  made.owner = &output;
  return made;
}

void drain_output(Output& output, std::uint64_t written) {
  while (output.file >= 0 && output.drained < written) {
    const std::uint64_t at = output.drained % kRing;
    const std::uint64_t count = std::min(written - output.drained, kRing - at);
    const long done = raw_syscall(SYS_write, output.file, reinterpret_cast<long>(output.ring + at),
                                  static_cast<long>(count));
    if (done == -EINTR) continue;
    if (failed(done)) die("the trace cannot be written", static_cast<std::uint64_t>(-done));
    output.drained += static_cast<std::uint64_t>(done);
  }
}

void close_output(Output& output, std::uint64_t written) {
  drain_output(output, written);
  if (output.file >= 0) raw_syscall(SYS_close, output.file);
  if (output.ring != nullptr) {
    raw_syscall(SYS_munmap, reinterpret_cast<long>(output.ring), 2 * kRing);
  }
  output = Output{};
}

}  // namespace hodo::engine
