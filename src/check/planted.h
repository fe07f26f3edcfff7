// What code makes by itself and pushes: return addresses, to jump to a function as if it had called
// it, and where a return is to lead.
#pragma once

#include <cstdint>
#include <optional>

#include "edge.h"

namespace hodo::check {

// A jump to what a register holds, in a straight line behind ADD REG, NUMBER; PUSH REG: what was
// pushed is so far behind whatever the register held. So V8 goes on in its interpreter where
// optimised code has ended (Builtins_InterpreterEnterAtBytecode). nullopt: another branch.
std::optional<std::uint64_t> planted_distance(const End& jump);
// `to` is behind a call, and so far behind a function's start.
bool is_planted(const End& to, std::uint64_t distance);
// A return to what was pushed in a straight line with it: the end of setcontext() and its like.
bool returns_to_pushed(const End& from);

}  // namespace hodo::check
