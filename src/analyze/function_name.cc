#include "hodo/analyze/function_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hodo/base/edit_distance.h"
#include "hodo/base/last_component.h"
#include "hodo/symbol/demangle.h"

namespace hodo::analyze {
namespace {

constexpr std::size_t kMostListed = 5;
constexpr std::size_t kLongestName = 200;   // of those that are compared letter by letter
constexpr std::size_t kLongestShown = 100;  // with parameters and a template's arguments
constexpr std::string_view kStub = "@plt";

// Where the object's name ends, or npos: Rust's type that has no value is a '!', too, among
// parameters and arguments; operator!() and operator!=() have one of their own.
std::size_t object_mark(std::string_view written) {
  std::size_t open = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const char c = written[i];
    const bool arrow = c == '>' && i != 0 && written[i - 1] == '-';
    if (c == '<' || c == '(' || c == '{') ++open;
    if ((c == '>' || c == ')' || c == '}') && open != 0 && !arrow) --open;
    if (c != '!' || open != 0) continue;
    return written.substr(0, i).ends_with("operator") ? written.npos : i;
  }
  return written.npos;
}

// "parse [a.c]" -> "parse": what names alone do not tell (session::full_name).
std::string_view without_mark(std::string_view function) {
  const std::size_t mark = function.rfind(" [");
  if (!function.ends_with(']') || mark == function.npos) return function;
  return function.substr(mark).starts_with(" [clone") ? function : function.substr(0, mark);
}

// Without parameters and a template's arguments.
std::string shortest(std::string_view function) {
  const std::vector<std::string> all = symbol::spellings(function);
  return *std::ranges::min_element(all, {}, &std::string::size);
}

// "ns::Box::add" -> "add"
std::string_view unqualified(std::string_view bare) {
  const std::size_t colons = bare.rfind("::");
  return colons == bare.npos ? bare : bare.substr(colons + 2);
}

}  // namespace

FunctionName::FunctionName(const std::string& written, bool exact) : exact_(exact) {
  const std::size_t mark = object_mark(written);
  const bool names_object = mark != written.npos;
  name_ = names_object ? written.substr(mark + 1) : written;
  if (names_object) object_ = written.substr(0, mark);
}

bool FunctionName::means(std::string_view function, std::string_view object) const {
  if (!object_.empty() && last_component(object) != object_) return false;
  return name_ == function || (!exact_ && symbol::means(name_, without_mark(function)));
}

std::string suggestion(const std::string& written, const std::vector<std::string>& names) {
  std::map<std::string, unsigned> near;
  const bool stub = written.ends_with(kStub);
  const std::string wanted =
      shortest(stub ? written.substr(0, written.size() - kStub.size()) : written);
  // In half of a short word a slip is none.
  const auto most =
      std::max<unsigned>(wanted.size() < 5 ? 1 : 2, static_cast<unsigned>(wanted.size()) / 3);
  for (const std::string& name : names) {
    // Code that ran, but nothing that is called; a stub counts for its caller.
    if (name == written || name.ends_with(kStub)) continue;
    const std::string bare = shortest(without_mark(name));
    if (bare.empty()) continue;  // code without a name
    if (bare.size() > kLongestName || wanted.size() > kLongestName) continue;
    unsigned d = edit_distance(wanted, bare);
    const bool holds = wanted.size() >= 3 && bare.find(wanted) != bare.npos;
    if (d > most && holds) d = most + 1;                  // behind all that are near
    if (unqualified(bare) == unqualified(wanted)) d = 0;  // of another class or namespace
    if (d <= most || holds) near.try_emplace(name.size() > kLongestShown ? bare : name, d);
  }
  std::vector<std::pair<std::string, unsigned>> best(near.begin(), near.end());
  std::ranges::stable_sort(
      best, {}, [](const auto& name) { return std::pair(name.second, name.first.size()); });
  if (best.empty()) return "";
  std::string out = "; did you mean ";
  for (std::size_t i = 0; i < std::min(best.size(), kMostListed); ++i) {
    out += fmt::format("{}'{}'", i == 0 ? "" : ", ", best[i].first);
  }
  return out + "?";
}

std::string suggestion(const std::string& written, const std::vector<std::string>& names,
                       const session::Names& files) {
  for (const symbol::SymbolTable* table : files.tables()) {
    const auto found = table->inlined(written);
    if (!found) continue;
    const std::string whole = symbol::demangle(found->function);
    if (!symbol::means(written, whole)) return fmt::format("; did you mean '{}'?", whole);
    std::string text = "; the compiler has inlined it";
    if (found->line == 0) return text;
    const std::string_view file = last_component(found->file);
    return text +
           fmt::format(" ({0}:{1}): its lines can be asked for, as in 'hodo show line:{0}:{1}'",
                       file, found->line);
  }
  std::string out = suggestion(written, names);
  for (const symbol::SymbolTable* table : files.tables()) {
    const std::string missing = table->missing_part();
    if (missing.empty()) continue;
    return out +
           fmt::format("; not all is known of what the compiler has inlined, as {} is missing",
                       missing);
  }
  return out;
}

}  // namespace hodo::analyze
