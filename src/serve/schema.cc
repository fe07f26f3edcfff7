#include "schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hodo/view/text.h"

namespace hodo::serve::schema {
namespace {

Json described(Json value, std::string_view description) {
  if (!description.empty()) value["description"] = description;
  return value;
}

}  // namespace

Json string(std::string_view description) { return described({{"type", "string"}}, description); }
Json number(std::string_view description, std::uint64_t least, std::uint64_t most) {
  Json out{{"type", "integer"}, {"minimum", least}};
  if (most != kLargest) out["maximum"] = most;
  return described(std::move(out), description);
}
Json real(std::string_view description) {
  return described({{"type", "number"}, {"minimum", 0}}, description);
}
Json flag(std::string_view description) { return described({{"type", "boolean"}}, description); }
Json one_of(std::initializer_list<std::string_view> words, std::string_view description) {
  Json out{{"type", "string"}, {"enum", Json::array()}};
  for (const std::string_view word : words) out["enum"].push_back(word);
  return described(std::move(out), description);
}
Json list(Json items, std::string_view description) {
  return described({{"type", "array"}, {"items", std::move(items)}}, description);
}
Json any(std::string_view description) { return described(Json::object(), description); }
Json optional(Json what) {
  if (what.contains("type")) what["type"] = Json::array({what["type"], "null"});
  return what;
}

Json object(const Members& members, std::initializer_list<std::string_view> needed, bool closed) {
  Json out{{"type", "object"}, {"properties", Json::object()}};
  for (const auto& [name, what] : members) out["properties"][std::string(name)] = what;
  if (needed.size() != 0) out["required"] = Json::array();
  for (const std::string_view name : needed) out["required"].push_back(name);
  if (closed) out["additionalProperties"] = false;
  return out;
}
Json parameters(const Members& members, std::initializer_list<std::string_view> needed) {
  return object(members, needed, true);
}

Json no_parameters() { return parameters({}); }

namespace {

// JSON Schema counts 2.0 as an integer; who writes numbers as JavaScript or Lua do may write that.
bool is_integer(const Json& value) {
  if (value.is_number_integer()) return true;
  if (!value.is_number_float()) return false;
  const double number = value.get<double>();
  return std::trunc(number) == number && std::abs(number) <= static_cast<double>(kLargest);
}

std::string_view type_of(const Json& value) {
  if (is_integer(value)) return "integer";
  if (value.is_number()) return "number";
  if (value.is_boolean()) return "boolean";
  if (value.is_string()) return "string";
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  return "null";
}

bool has_type(const Json& wanted, std::string_view type) {
  if (wanted.is_array()) {
    return std::ranges::any_of(wanted, [&](const Json& one) { return has_type(one, type); });
  }
  return wanted == type || (wanted == "number" && type == "integer");
}

Status wrong(const std::string& path, const std::string& what) {
  return fail(ErrorCode::usage, fmt::format("{} {}", path, what));
}

std::string words_of(const Json& values) {
  std::string out;
  for (const Json& value : values) out += (out.empty() ? "" : ", ") + value.get<std::string>();
  return out;
}

std::string names_of(const Json& members) {
  std::string out;
  for (const auto& [name, unused] : members.items()) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out.empty() ? "none" : out;
}

Status check_object(const Json& schema, const Json& value, const std::string& path) {
  const Json none = Json::object();
  const Json& members = schema.contains("properties") ? schema["properties"] : none;
  for (const auto& [name, what] : value.items()) {
    if (const auto known = members.find(name); known != members.end()) {
      if (Status s = check(*known, what, fmt::format("{}.{}", path, name)); !s) return s;
    } else if (!schema.value("additionalProperties", true)) {
      return wrong(path, fmt::format("has no member '{}'; its members: {}",
                                     view::printable(view::fit(name, 60)), names_of(members)));
    }
  }
  if (!schema.contains("required")) return {};
  for (const Json& name : schema["required"]) {
    if (!value.contains(name)) return wrong(path, "needs '" + name.get<std::string>() + "'");
  }
  return {};
}

}  // namespace

Status check(const Json& schema, const Json& value, const std::string& path) {
  const std::string_view type = type_of(value);
  if (schema.contains("type") && !has_type(schema["type"], type)) {
    const Json& wanted = schema["type"];
    return wrong(
        path, fmt::format("is to be of type {}, not {}",
                          wanted.is_array() ? words_of(wanted) : wanted.get<std::string>(), type));
  }
  if (schema.contains("enum") && value.is_string() &&
      std::ranges::find(schema["enum"], value) == schema["enum"].end()) {
    return wrong(path, "is to be one of " + words_of(schema["enum"]));
  }
  if (schema.contains("minimum") && value.is_number()) {
    const bool low = value.is_number_unsigned()
                         ? value.get<std::uint64_t>() < schema["minimum"].get<std::uint64_t>()
                         : value.get<double>() < schema["minimum"].get<double>();
    const std::uint64_t most = schema.value("maximum", kLargest);
    const bool high = value.is_number_unsigned() && value.get<std::uint64_t>() > most;
    if (low) return wrong(path, "is to be at least " + schema["minimum"].dump());
    if (high) return wrong(path, fmt::format("is to be at most {}", most));
  }
  if (value.is_object()) return check_object(schema, value, path);
  if (value.is_array() && schema.contains("items")) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (Status s = check(schema["items"], value[i], fmt::format("{}[{}]", path, i)); !s) return s;
    }
  }
  return {};
}

}  // namespace hodo::serve::schema
