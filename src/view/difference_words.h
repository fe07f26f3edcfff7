// What the text and the page of `hodo diff` say in the same words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hodo/view/differences.h"

namespace hodo::view {

// "foo.c:42  401136 parse+0x16 (prog)".
std::string place_text(session::Session& session, const session::Context& who,
                       std::uint64_t address, std::uint64_t time);
// What a side does at the parting.
std::string way_text(const ask::Side& side, const ask::Scene& scene);
std::string meeting_text(const ask::Parting& parting);
// Where two paths part: "parse+0x16" and "foo.c:42"; "-" and "" where that is not in the trace.
struct PartingPlace {
  std::string function, line;
};
PartingPlace parting_place(const ComparedPaths& paths, const ask::Parting& parting);
// At most `most` (at least 1) of the partings behind the first. The last is always among them: how
// paths end is what many want to know.
std::vector<const ask::Parting*> further_partings(const ask::Comparison& comparison,
                                                  std::size_t most);
// A function, line or branch, printable.
std::string executed_text(const ask::Executed& what);

}  // namespace hodo::view
