// What the engine has in the place of a C library.
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "memory.h"
#include "sys.h"

namespace hodo::engine {

void die(const char* text, std::uint64_t value) {
  char line[256];
  std::size_t at = 0;
  const auto put = [&](const char* from) {
    while (*from != 0 && at < sizeof(line) - 24) line[at++] = *from++;
  };
  put("hodo engine: ");
  put(text);
  put(" 0x");
  for (int shift = 60; shift >= 0; shift -= 4) line[at++] = "0123456789abcdef"[value >> shift & 15];
  line[at++] = '\n';
  raw_syscall(SYS_write, 2, reinterpret_cast<long>(line), static_cast<long>(at));
  raw_syscall(SYS_exit_group, 70);
  __builtin_unreachable();
}

namespace {

// In front of what is given out.
struct alignas(16) Allocated {
  std::size_t bytes;
};

}  // namespace
}  // namespace hodo::engine

// For the few things that are made and given back: whole pages.
void* operator new(std::size_t bytes) {
  using hodo::engine::Allocated;
  bytes += sizeof(Allocated);
  auto* made = static_cast<Allocated*>(hodo::engine::map_memory(bytes));
  made->bytes = bytes;
  return made + 1;
}
void operator delete(void* memory) noexcept {
  using hodo::engine::Allocated;
  if (memory == nullptr) return;
  Allocated* made = static_cast<Allocated*>(memory) - 1;
  hodo::engine::unmap_memory(reinterpret_cast<std::uint64_t>(made), made->bytes);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

// What the compiler calls.
extern "C" {
void* memcpy(void* to, const void* from, std::size_t count) {
  void* result = to;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count)::"memory");
  return result;
}
void* memset(void* to, int value, std::size_t count) {
  void* result = to;
  asm volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(value) : "memory");
  return result;
}
void* memmove(void* to, const void* from, std::size_t count) {
  auto* out = static_cast<unsigned char*>(to);
  const auto* in = static_cast<const unsigned char*>(from);
  if (out <= in) return memcpy(to, from, count);
  while (count-- > 0) out[count] = in[count];
  return to;
}
std::size_t strlen(const char* text) {
  std::size_t count = 0;
  while (text[count] != 0) ++count;
  return count;
}
}
