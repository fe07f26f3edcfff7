// The pointer that an indirect call or jump went by, as the text around it tells.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "edge.h"
#include "hodo/check/finding.h"

namespace hodo::check {

// Where the pointer was and what the file says that it held there; empty where the text does not
// say, or the branch is none by a pointer.
std::vector<Fact> pointer_facts(const Edge& edge);

// Where an indirect call or jump took its target from, as far as the text says so for certain. One
// of the two at most.
struct PointerPlace {
  std::optional<std::uint64_t> address;  // this word of the file
  // The word so far behind an address that was itself read from an object, as functions are found
  // in vtables and other tables that objects point to.
  std::optional<std::uint64_t> offset;
};
PointerPlace pointer_place(const Edge& edge);

// The slot by whose name the branch leads to another file's function; null: by none. Of a
// retpoline, the slot from which the register was loaded right before.
const text::Slot* slot_called(const Edge& edge);

// Whether the object is known by which the branch, of which pointer_place() says an offset, found
// its pointer: right before, in a straight line, it was read from memory or returned by a call, or
// it is an argument of the function. Else code for several kinds of objects may come together here,
// as compilers make one of equal ends.
bool has_settled_object(const Edge& edge);

// Whether the branch can lead to a stub or through a slot whose place its function computes, or has
// computed before and kept: it has the number for it (Module::has_distance), and the pointer is in
// a register, at a distance that is in one, or on the stack, and was not read from elsewhere right
// before.
bool is_by_number(const Edge& edge);

// Whether the branch takes its target from a table of which only a pointer is in the file, and the
// file says nothing of what this pointer holds: the program makes the table when it runs.
bool is_by_runtime_table(const Edge& edge);

// Whether the instructions right before say where the branch leads, and it does: they put an
// address of the file, or that of a function from its slot, into the register and may add numbers.
bool is_by_written_address(const Edge& edge);

// Whether the instructions right before add a number to a pointer that comes from elsewhere, and
// the branch leads as far behind the start of a function (V8's builtins enter the interpreter's
// so).
bool is_far_behind_start(const Edge& edge);

}  // namespace hodo::check
