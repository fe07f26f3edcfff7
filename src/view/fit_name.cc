// Long names of functions, cut so that what tells them apart stays.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/view/text.h"

namespace hodo::view {
namespace {

constexpr std::string_view kDots = "..";

// Where the remark behind a name begins: "+0x1b", " (inlined)", "  (not executed)". The name's size
// if there is none.
std::size_t remark_of(std::string_view text) {
  if (text.ends_with(')')) {
    const std::size_t open = text.rfind(" (");
    if (open == text.npos || text.find_first_of("()", open + 2) + 1 != text.size()) {
      return text.size();
    }
    const std::size_t last = text.find_last_not_of(' ', open);
    return last == text.npos ? text.size() : last + 1;
  }
  const std::size_t plus = text.rfind("+0x");
  const bool offset = plus != text.npos && plus != 0 && plus + 3 < text.size() &&
                      text.find_first_not_of("0123456789abcdef", plus + 3) == text.npos;
  return offset ? plus : text.size();
}

// How many characters of the name of an operator begin here: 10 of "operator<<(x)", 0 of others.
std::size_t operator_at(std::string_view text) {
  constexpr std::string_view kWord = "operator";
  if (!text.starts_with(kWord)) return 0;
  const std::string_view rest = text.substr(kWord.size());
  for (const std::string_view sign :
       {"()", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "->*", "->", "<", ">"}) {
    if (rest.starts_with(sign)) return kWord.size() + sign.size();
  }
  return 0;
}

struct Folded {
  std::string text;
  std::vector<std::size_t> parts;  // where its components begin, behind each ::
};

// "a<..>::b(..)" of "a<int>::b(x<y>)"; nullopt if brackets do not pair.
std::optional<Folded> folded(std::string_view name) {
  Folded out;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    const bool arrow = c == '>' && at != 0 && name[at - 1] == '-';
    if (const std::size_t sign = depth == 0 ? operator_at(name.substr(at)) : 0; sign != 0) {
      out.text += name.substr(at, sign);
      at += sign - 1;
      continue;
    }
    if ((c == '>' || c == ')') && !arrow) {
      if (depth == 0) return std::nullopt;
      --depth;
    }
    if (depth == 0) out.text += c;
    if (c == '<' || c == '(') {
      if (depth++ == 0 && at + 1 < name.size() && name[at + 1] != ')') out.text += kDots;
    }
    const bool argument = at + 1 < name.size() && name[at + 1] == '<';  // f::<T> of Rust
    if (depth == 0 && !argument && out.text.ends_with("::")) out.parts.push_back(out.text.size());
  }
  if (depth != 0) return std::nullopt;
  return out;
}

// Without blanks in front and remarks behind.
std::string fit_bare(std::string_view name, std::size_t columns) {
  const auto short_one = folded(name);
  if (!short_one) return fit(name, columns);
  const std::string_view text = short_one->text;
  if (width(text) <= columns) return short_one->text;
  for (const std::size_t part : short_one->parts) {
    const std::string_view rest = text.substr(part);
    if (width(rest) + kDots.size() <= columns) return std::string(kDots).append(rest);
  }
  return fit(short_one->parts.empty() ? text : text.substr(short_one->parts.back()), columns);
}

}  // namespace

std::string fit_name(std::string_view text, std::size_t columns) {
  if (width(text) <= columns) return std::string(text);
  const std::size_t blanks = std::min(text.find_first_not_of(' '), columns / 2);
  const std::string_view name = text.substr(blanks);
  const std::size_t left = columns - blanks;
  std::size_t end = remark_of(name);
  if (width(name.substr(end)) > left * 2 / 3) end = name.size();
  return std::string(blanks, ' ') + fit_bare(name.substr(0, end), left - width(name.substr(end))) +
         std::string(name.substr(end));
}

}  // namespace hodo::view
