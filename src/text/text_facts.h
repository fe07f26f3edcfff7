// What takes long to find out of a module's text, and how it is kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "function_map.h"
#include "hodo/text/module.h"
#include "pointer_targets.h"
#include "sweep.h"
#include "text_map.h"

namespace hodo::text {

struct TextFacts {
  TextMap text;
  FunctionMap functions;
  std::vector<LandingPad> landings;             // by `begin`
  std::vector<Sweep::Reference> through_slots;  // as Sweep::through_slots
  PointerTargets pointer_targets;
  bool complete = true;
};

// Of a text whose marks are kept.
std::vector<std::uint8_t> pack(const TextFacts& facts);
// Fills `facts`, whose text is that of the file, without marks. False, and then `facts` are not to
// be used, where the bytes are not what pack() makes for such a text.
bool unpack(std::span<const std::uint8_t> bytes, TextFacts& facts);

}  // namespace hodo::text
