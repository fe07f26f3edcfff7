// JSON Schema: writing the part of it that methods use, and holding values against it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "hodo/base/result.h"
#include "hodo/serve/method.h"

namespace hodo::serve::schema {

Json string(std::string_view description);
// Numbers beyond this are no exact ones for who reads JSON as a browser does.
inline constexpr std::uint64_t kLargest = std::uint64_t{1} << 53;
Json number(std::string_view description, std::uint64_t least = 0, std::uint64_t most = kLargest);
Json real(std::string_view description);  // not negative
Json flag(std::string_view description);
Json one_of(std::initializer_list<std::string_view> words, std::string_view description);
Json list(Json items, std::string_view description = {});
Json any(std::string_view description = {});
Json optional(Json what);  // or null

using Members = std::initializer_list<std::pair<std::string_view, Json>>;
// An object with these members, of which those in `needed` are always there. `closed`: no others.
Json object(const Members& members, std::initializer_list<std::string_view> needed = {},
            bool closed = false);
// Of parameters: closed.
Json parameters(const Members& members, std::initializer_list<std::string_view> needed = {});
Json no_parameters();

// usage: what of the value does not fit, by its path. Understands what is written by the functions
// above. `value` has a bounded depth.
Status check(const Json& schema, const Json& value, const std::string& path = "params");

}  // namespace hodo::serve::schema
