// What the text and the page of `hodo diff` say in the same words.
#pragma once

#include <cstdint>
#include <string>

#include "hodo/view/differences.h"

namespace hodo::view {

// "foo.c:42  401136 parse+0x16 (prog)".
std::string place_text(session::Session& session, const session::Context& who,
                       std::uint64_t address, std::uint64_t time);
// What a side does at the parting.
std::string way_text(const ask::Side& side, const ask::Scene& scene);
std::string meeting_text(const ask::Parting& parting);
// A function, line or branch, printable.
std::string executed_text(const ask::Executed& what);

}  // namespace hodo::view
