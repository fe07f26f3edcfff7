#include "hodo/view/growing.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hodo/view/text.h"

namespace hodo::view {
namespace {

// Null: nobody was recording into it.
const session::Facts* growing(const session::Session& session) {
  const session::Facts* const facts = session.facts();
  return facts != nullptr && facts->growing ? facts : nullptr;
}

std::uint64_t duration_of(const session::Facts& facts) {
  return facts.last_time > facts.first_time ? facts.last_time - facts.first_time : 0;
}

}  // namespace

std::string growing_text(const session::Session& session) {
  const session::Facts* const facts = growing(session);
  if (facts == nullptr) return "";
  return fmt::format("is still being recorded: this is of its first {} ({})",
                     duration(duration_of(*facts)), byte_size(facts->bytes));
}

nlohmann::ordered_json growing_json(const session::Session& session) {
  const session::Facts* const facts = growing(session);
  if (facts == nullptr) return nullptr;
  return {{"bytes", facts->bytes}, {"duration_ns", duration_of(*facts)}};
}

void add_growing(nlohmann::ordered_json& out, const session::Session& session) {
  if (auto said = growing_json(session); !said.is_null()) out["growing"] = std::move(said);
}

}  // namespace hodo::view
