// Calls that have data behind them, so that nobody returns to right behind the call.
#pragma once

#include <cstdint>

#include "edge.h"

namespace hodo::check {

// How far a function that takes its return address for an argument may go on behind it.
inline constexpr std::uint64_t kMostArguments = 256;
// How far behind a call is_behind_gap() looks.
inline constexpr std::uint64_t kWidestGap = 8;

// Both in one file: `to` lies at most kMostArguments behind a return address, and the function that
// was called takes that (text::takes_return_address). `from`: where the function returns or jumps,
// by which it is known where the call does not name it.
bool is_behind_arguments(const End& from, const End& return_address, const End& to);
// A jump, or a return that goes behind no call, leads to such a place behind some call of the
// function that it leaves. Of a return more is known where that call was seen.
bool goes_behind_arguments(const Edge& edge);
// The branch may lie behind what such a call has behind it, so that it is not read as it ran.
bool may_be_behind_arguments(const End& end);
// A call of the function that it leaves, to behind the RET that stands behind a direct call of that
// function or of one that goes on into it: so __morestack calls the rest of the function
// (-fsplit-stack) on a larger stack, and then returns to that RET.
bool goes_on_behind_own_return(const Edge& edge);
// What stands behind the call can be no code that goes on, and close behind it a branch of the text
// leads to `to`: so Poly/ML keeps a mask of registers behind a call, and jumps over both.
bool is_behind_gap(const End& return_address, const End& to);

}  // namespace hodo::check
