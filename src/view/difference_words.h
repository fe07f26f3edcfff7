// What the text and the page of `hodo diff` say in the same words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/view/differences.h"

namespace hodo::view {

// "foo.c:42  401136 parse+0x16 (prog)".
std::string place_text(session::Session& session, const session::Context& who,
                       std::uint64_t address, std::uint64_t time);
// What a side does at the parting.
std::string way_text(const ask::Side& side, const ask::Scene& scene);
std::string meeting_text(const ask::Comparison& compared);  // where the first parting ends
// Where two paths part: "parse+0x16" and "foo.c:42"; "-" and "" where that is not in the trace.
struct PartingPlace {
  std::string function, line;
};
PartingPlace parting_place(const ComparedPaths& paths, const ask::Parting& parting);
// At most `most` (at least 1) of them. The last is always among them: how paths end is what many
// want to know.
std::vector<const ask::Parting*> some_partings(std::span<const ask::Parting> partings,
                                               std::size_t most);
// How far two paths that are not the same are alike.
std::string alike_text(const ask::Comparison& comparison);
// What Comparison::waits are.
std::string waits_text(const ask::Comparison& comparison);
// Where nothing differs, and not all could be compared.
inline constexpr std::string_view kNoneInWhatWasCompared =
    "No difference in what could be compared.";
// A function, line or branch, printable.
std::string executed_text(const ask::Executed& what);

}  // namespace hodo::view
