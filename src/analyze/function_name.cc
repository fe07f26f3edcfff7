#include "hodo/analyze/function_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hodo/base/edit_distance.h"
#include "hodo/base/last_component.h"
#include "hodo/base/written_bytes.h"
#include "hodo/symbol/debug_functions.h"
#include "hodo/symbol/demangle.h"

namespace hodo::analyze {
namespace {

constexpr std::size_t kMostListed = 5;
constexpr std::size_t kLongestName = 200;   // of those that are compared letter by letter
constexpr std::size_t kLongestShown = 100;  // with parameters and a template's arguments
constexpr std::string_view kStub = "@plt";

// Where the object's name ends, or npos: Rust's type that has no value is a '!', too, among
// parameters and arguments; operator!() and operator!=() have one of their own, and D's templates
// one in front of their arguments.
std::size_t object_mark(std::string_view written) {
  std::size_t open = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const char c = written[i];
    const bool arrow = c == '>' && i != 0 && written[i - 1] == '-';
    if (c == '<' || c == '(' || c == '{') ++open;
    if ((c == '>' || c == ')' || c == '}') && open != 0 && !arrow) --open;
    if (c != '!' || open != 0) continue;
    const std::string_view behind = written.substr(i + 1);
    if (behind.starts_with('(') && !behind.starts_with("(anonymous namespace)")) continue;
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

std::string in_small_letters(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// The name itself, by which one knows it whatever its language puts in front and behind, in small
// letters: "ns::Box::add" and "main.(*Box).Add" -> "add", "shapes__inner.0" of Ada -> "inner",
// "__shapes_MOD_area" of Fortran -> "area".
std::string unqualified(std::string_view bare) {
  const std::size_t number = bare.find_last_not_of("0123456789");
  if (number != bare.npos && number != 0 && bare[number] == '.') bare = bare.substr(0, number);
  std::size_t begin = 0;
  for (const std::string_view mark : {"::", ".", "__", "_MOD_"}) {
    const std::size_t at = bare.rfind(mark);
    if (at == bare.npos || at == 0 || at + mark.size() == bare.size()) continue;
    begin = std::max(begin, at + mark.size());
  }
  const std::string_view name = bare.substr(begin);
  // Rust's two ways to write what has no name.
  return name.starts_with("{closure#") ? "{{closure}}" : in_small_letters(name);
}

// Of functions that have been inlined somewhere, and may have no code of their own.
std::vector<std::string> inlined_names(const session::Names& files) {
  std::vector<std::string> out;
  for (const symbol::SymbolTable* table : files.tables()) {
    const auto known = symbol::debug_functions_of(table->path(), table->elf().build_id);
    for (const auto& [name, function] : known.functions) {
      if (function.inlined) out.push_back(symbol::demangle(name));
    }
  }
  return out;
}

}  // namespace

FunctionName::FunctionName(const std::string& text, bool exact) : exact_(exact) {
  const std::string written = written_bytes(text);
  const std::size_t mark = object_mark(written);
  const bool names_object = mark != written.npos;
  name_ = symbol::demangle(names_object ? written.substr(mark + 1) : written);
  if (names_object) object_ = written.substr(0, mark);
}

bool FunctionName::means(std::string_view function, std::string_view object) const {
  if (!object_.empty() && last_component(object) != object_) return false;
  return name_ == function || (!exact_ && symbol::means(name_, without_mark(function)));
}

std::string suggestion(const std::string& written, const std::vector<std::string>& names) {
  // How a name is like what was written, the likest first.
  enum class Like { name, near, holds, holds_name };
  using Rank = std::pair<Like, unsigned>;
  std::map<std::string, Rank> likes;
  bool likely = false;
  const bool stub = written.ends_with(kStub);
  const std::string wanted =
      shortest(stub ? written.substr(0, written.size() - kStub.size()) : written);
  const std::string wanted_small = in_small_letters(wanted);
  const std::string wanted_name = unqualified(wanted);
  // In half of a short word a slip is none.
  const auto most =
      std::max<unsigned>(wanted.size() < 5 ? 1 : 2, static_cast<unsigned>(wanted.size()) / 3);
  for (const std::string& name : names) {
    // Code that ran, but nothing that is called; a stub counts for its caller.
    if (name == written || name.ends_with(kStub)) continue;
    const std::string bare = shortest(without_mark(name));
    if (bare.empty()) continue;  // code without a name
    if (bare.size() > kLongestName || wanted.size() > kLongestName) continue;
    const unsigned d = edit_distance(wanted, bare);
    const std::string small = in_small_letters(bare);
    const auto holds = [&small](const std::string& part) {
      return part.size() >= 3 && small.contains(part);
    };
    Rank rank;
    if (unqualified(bare) == wanted_name) {  // of another class or namespace
      rank = {Like::name, d};
    } else if (d <= most) {
      rank = {Like::near, d};
    } else if (holds(wanted_small)) {
      rank = {Like::holds, 0};
    } else if (holds(wanted_name)) {
      rank = {Like::holds_name, 0};
    } else {
      continue;
    }
    // "index" for "shapes.index" may be another one.
    likely = likely || (rank.first != Like::holds_name &&
                        (wanted_name == wanted_small || small != wanted_name));
    likes.try_emplace(name.size() > kLongestShown ? bare : name, rank);
  }
  std::vector<std::pair<std::string, Rank>> best(likes.begin(), likes.end());
  std::ranges::stable_sort(
      best, {}, [](const auto& name) { return std::pair(name.second, name.first.size()); });
  // Those that have but the last part of what was written in them are told for want of better.
  if (likely) {
    std::erase_if(best, [](const auto& one) { return one.second.first == Like::holds_name; });
  }
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
  const std::string unknown = unknown_inlined(files);
  std::string like = suggestion(written, names);
  if (like.empty()) like = suggestion(written, inlined_names(files));
  return like + (unknown.empty() ? "" : "; " + unknown);
}

std::string unknown_inlined(const session::Names& files) {
  for (const symbol::SymbolTable* table : files.tables()) {
    const std::string missing = table->missing_part();
    if (missing.empty()) continue;
    return "not all is known of what the compiler has inlined, as " + missing;
  }
  return "";
}

}  // namespace hodo::analyze
