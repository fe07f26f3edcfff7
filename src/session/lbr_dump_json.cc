// The JSON form of dumps of LBR registers.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lbr_dump.h"

namespace hodo::session {
namespace {

using Json = nlohmann::json;

// A number, or a string with one: JSON has no hexadecimal, and not every writer keeps 64 bits.
std::string text_of(const Json& value) {
  if (value.is_number_unsigned()) return std::to_string(value.get<std::uint64_t>());
  if (value.is_string()) return value.get<std::string>();
  return "?";
}

Status take_member(LbrDump& dump, const std::string& name, const Json& value) {
  if (!value.is_array()) return set_in_lbr_dump(dump, name, text_of(value));
  for (std::size_t n = 0; n < value.size(); ++n) {
    Status status = set_in_lbr_dump(dump, name + std::to_string(n), text_of(value[n]));
    if (!status) return status;
  }
  return {};
}

Result<LbrDump> stack_of(const Json& object) {
  if (!object.is_object()) return fail(ErrorCode::malformed, "a stack is no JSON object");
  LbrDump dump;
  for (const auto& [name, value] : object.items()) {
    if (Status status = take_member(dump, name, value); !status) {
      return std::unexpected(status.error());
    }
  }
  return dump;
}

}  // namespace

Result<std::vector<LbrDump>> parse_lbr_json(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorCode::malformed, "the file is no well-formed JSON");
  std::vector<LbrDump> stacks;
  const Json list = json.is_array() ? json : Json::array({json});
  for (const Json& object : list) {
    auto stack = stack_of(object);
    if (!stack) return std::unexpected(stack.error());
    stacks.push_back(std::move(*stack));
  }
  return stacks;
}

}  // namespace hodo::session
