// A static program has the dynamic linker's part in it: it loads files for the encodings of
// iconv(), and the C library has chosen functions of its own in slots that no name tells of. With
// an argument, such a slot leads elsewhere.
#include <iconv.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline, used)) static void untaken(void) {
  static const char kWord[] = "reached\n";
  if (write(1, kWord, sizeof kWord - 1) > 0) _exit(0);
}

static size_t encoded(void) {
  const iconv_t encoding = iconv_open("UTF-16", "UTF-8");
  if (encoding == (iconv_t)-1) return 0;
  char in[] = "word", out[32];
  char *from = in, *to = out;
  size_t left = sizeof in - 1, room = sizeof out;
  iconv(encoding, &from, &left, &to, &room);
  iconv_close(encoding);
  return sizeof out - room;
}

static uintptr_t behind_distance(const uint8_t* at) {
  int32_t distance;
  memcpy(&distance, at, sizeof distance);
  return (uintptr_t)at + sizeof distance + (uintptr_t)distance;
}

// By which the stub of strlen() jumps: [ENDBR64] [BND] JMP [RIP + distance].
static uintptr_t* slot_of_strlen(void) {
  const uint8_t* call;
  __asm__("lea 1f(%%rip), %0; jmp 2f; 1: call strlen; 2:" : "=r"(call));
  const uint8_t* stub = (const uint8_t*)behind_distance(call + 1);
  if (*stub == 0xf3) stub += 4;
  if (*stub == 0xf2) ++stub;
  if (stub[0] != 0xff || stub[1] != 0x25) _exit(1);
  return (uintptr_t*)behind_distance(stub + 2);
}

int main(int count, char** arguments) {
  (void)arguments;
  if (count > 2) untaken();
  if (count == 1) {
    printf("%zu bytes\n", encoded());
    return 0;
  }
  uintptr_t below;  // so that nothing has the function's address
  __asm__("lea untaken - 0x10000(%%rip), %0" : "=r"(below));
  *slot_of_strlen() = *(volatile uintptr_t*)&below + 0x10000;
  puts("");
  return 1;
}
