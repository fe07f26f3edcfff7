// Direct jumps as their file's text has them, which are most of the branches that a program makes.
#pragma once

#include <cstdint>
#include <optional>

#include "edge_end.h"
#include "hodo/flow/branch.h"

namespace hodo::check {

// The address behind the jump, if it leads from an instruction of a file to another one of the same
// file, as that says, both ran as they are there, and neither is of any note: then no rule says
// anything of it, and there are no facts (PathFacts) for the model of the thread's stacks. nullopt:
// look closer.
std::optional<std::uint64_t> next_of_plain_jump(const Branch& branch, const End& from,
                                                const End& to);

}  // namespace hodo::check
