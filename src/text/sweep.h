// Finds the instructions of the text and what each says about others.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "hodo/isa/insn.h"
#include "text_map.h"

namespace hodo::text {

// What the sweep found beside the marks.
struct Sweep {
  // Where an instruction computes the address of something outside the text (a jump table, mostly):
  // the instruction and the address.
  struct Reference {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
  };
  std::vector<Reference> references;
  // The same, of something in the text.
  std::vector<Reference> labels;
  // What instructions read or write at an address outside the text that they name.
  std::vector<std::uint64_t> accessed;
  // Direct jumps, conditional or not: from and to.
  std::vector<Reference> jumps;
  std::vector<std::uint64_t> indirect_jumps;
  std::vector<std::uint64_t> retpolines;  // their returns
  // Instructions that jump or call through a slot: from, and the slot's address.
  std::vector<Reference> through_slots;
  // What entries of jump tables may count from, besides the table and labels of its function.
  std::vector<std::uint64_t> table_bases;
};

// How code names addresses.
struct Addressing {
  isa::Mode mode = isa::Mode::bits64;
  // The text's addresses are those it runs at (ET_EXEC), so that immediates can be addresses.
  bool fixed = false;
  // The address of the GOT, which position-independent code of i386, and of the large model of
  // x86-64, has in a register.
  std::optional<std::uint64_t> got;
};

// Decodes from each of `starts` (ascending) straight on to the next, and from direct targets and
// addresses that are written down, in `taken` or in the text, and lie off this path. Takes time and
// memory linear in the text and `taken`.
Sweep sweep(TextMap& text, const std::vector<std::uint64_t>& starts,
            const std::vector<std::uint64_t>& taken, const Addressing& addressing);

// Goes on from `targets`, which lie off every path so far, and adds to `found` what it finds.
void sweep_on(TextMap& text, const std::vector<std::uint64_t>& targets,
              const Addressing& addressing, Sweep& found);

}  // namespace hodo::text
