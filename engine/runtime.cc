// What the engine has in the place of a C library.
#include <cstddef>
#include <cstdint>
#include <new>

#include "memory.h"
#include "sys.h"

namespace hodo::engine {

namespace {

// In front of what is given out.
struct alignas(16) Allocated {
  std::size_t bytes;   // of all
  std::size_t before;  // this and what aligns it
};

}  // namespace
}  // namespace hodo::engine

// For the few things that are made and given back: whole pages.
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  using hodo::engine::Allocated;
  const auto before = static_cast<std::size_t>(alignment);
  auto* base = static_cast<char*>(hodo::engine::map_memory(bytes + before));
  auto* made = reinterpret_cast<Allocated*>(base + before);
  made[-1] = {.bytes = bytes + before, .before = before};
  return made;
}
void* operator new(std::size_t bytes) {
  return operator new(bytes, std::align_val_t{alignof(hodo::engine::Allocated)});
}
void operator delete(void* memory) noexcept {
  using hodo::engine::Allocated;
  if (memory == nullptr) return;
  const Allocated made = static_cast<Allocated*>(memory)[-1];
  hodo::engine::unmap_memory(reinterpret_cast<std::uint64_t>(memory) - made.before, made.bytes);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  operator delete(memory);
}

// What the compiler calls.
extern "C" {
void __cxa_pure_virtual() { hodo::engine::die("a function is missing"); }
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
  // From the end, by words: the engine's tables move by megabytes.
  std::uint64_t word = 0;
  for (; count >= sizeof word; count -= sizeof word) {
    __builtin_memcpy(&word, in + count - sizeof word, sizeof word);
    __builtin_memcpy(out + count - sizeof word, &word, sizeof word);
  }
  while (count-- > 0) out[count] = in[count];
  return to;
}
int memcmp(const void* one, const void* other, std::size_t count) {
  const auto* a = static_cast<const unsigned char*>(one);
  const auto* b = static_cast<const unsigned char*>(other);
  for (std::size_t i = 0; i < count; ++i) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}
std::size_t strlen(const char* text) {
  std::size_t count = 0;
  while (text[count] != 0) ++count;
  return count;
}
}
