#include "bounded.h"

#include <nlohmann/json.hpp>

#include "hodo/serve/rpc.h"
#include "hodo/view/text.h"

namespace hodo::serve {
namespace {

constexpr std::size_t kDeepest = 32;  // answers are not nested more deeply

Json cut(const Json& value, std::size_t elements, std::size_t characters, std::size_t depth = 0) {
  if (value.is_string()) return view::fit(value.get<std::string>(), characters);
  if (depth == kDeepest) return value.is_structured() ? Json{{"left_out", value.size()}} : value;
  if (value.is_array()) {
    Json out = Json::array();
    for (const Json& one : value) {
      if (out.size() == elements) break;
      out.push_back(cut(one, elements, characters, depth + 1));
    }
    if (value.size() > elements) out.push_back({{"left_out", value.size() - elements}});
    return out;
  }
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (const auto& [name, one] : value.items()) {
    out[name] = cut(one, elements, characters, depth + 1);
  }
  return out;
}

}  // namespace

Json bounded(const Json& value, std::size_t most) {
  constexpr std::size_t kElements = 256;
  constexpr std::size_t kCharacters = 400;
  std::size_t characters = kCharacters;
  for (std::size_t elements = kElements; elements != 0; elements /= 2) {
    Json out = cut(value, elements, characters);
    if (one_line(out).size() <= most) return out;
    characters = std::max<std::size_t>(characters * 3 / 4, 60);
  }
  return {{"left_out", "the answer is too long; ask for a smaller part"}};
}

}  // namespace hodo::serve
