// Code that a program makes and runs, for tests of what becomes of its memory meanwhile.
#pragma once

#include <stdint.h>
#include <string.h>

enum { kArea = 256 << 10, kFunction = 2048, kSteps = 180 };

// uint32_t f(uint32_t): adds, and jumps over some of it.
static void make_function(uint8_t* at, uint32_t seed) {
  memcpy(at, "\x89\xf8", 2);  // MOV EAX, EDI
  at += 2;
  for (unsigned i = 0; i < kSteps; ++i) {
    seed = seed * 1664525 + 1013904223;
    memcpy(at, "\xa8\x10\x75\x05\x05", 5);  // TEST AL, 16; JNZ over; ADD EAX, seed
    memcpy(at + 5, &seed, 4);
    memcpy(at + 9, "\xff\xc0", 2);  // INC EAX
    at += 11;
  }
  *at = 0xc3;
}

// An area full of functions, each called once.
static uint32_t run_area(uint8_t* area, uint32_t seed, uint32_t value) {
  for (unsigned i = 0; i < kArea / kFunction; ++i) make_function(area + i * kFunction, seed + i);
  for (unsigned i = 0; i < kArea / kFunction; ++i) {
    value = ((uint32_t (*)(uint32_t))(area + i * kFunction))(value);
  }
  return value;
}
