#include "hodo/check/suppressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "hodo/base/trimmed.h"
#include "hodo/image/file.h"
#include "hodo/text/names.h"

namespace hodo::check {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{64} << 20;

// Takes what stands before the separator off the text; nullopt: there is none.
std::optional<std::string_view> take_until(std::string_view& text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view out = trimmed(text.substr(0, at));
  text.remove_prefix(at + separator.size());
  return out;
}

std::unexpected<Error> wrong(std::size_t line, std::string_view what) {
  return fail(ErrorCode::malformed,
              fmt::format("line {}: {}; a line is RULE | FROM => TO | REASON", line, what));
}

Result<Suppression> parse_line(std::string_view text, std::size_t line) {
  const auto rule = take_until(text, "|");
  const auto from = rule ? take_until(text, "=>") : std::nullopt;
  const auto to = from ? take_until(text, "|") : std::nullopt;
  if (!to) return wrong(line, "a part is missing");
  Suppression out{.rule = find_rule(*rule),
                  .from = std::string(*from),
                  .to = std::string(*to),
                  .reason = std::string(trimmed(text))};
  if (out.rule == nullptr) return wrong(line, fmt::format("there is no rule '{}'", *rule));
  if (out.from.empty() || out.to.empty()) return wrong(line, "an end is empty");
  if (out.reason.empty()) return wrong(line, "it gives no reason");
  return out;
}

// Whether `text` is `pattern`, in which '*' stands for any text.
bool fits(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;  // what the last '*' stands for ends before it
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string end_of(const Finding& finding, std::uint64_t address, const session::Names& names) {
  if (address == 0) return "-";
  const session::Place place = names.place(finding.who.space, address, finding.branch.time);
  const std::string_view object = text::file_name(place.object);
  if (object.empty()) return "?";
  if (place.symbol.empty()) return fmt::format("{}:+{:#x}", object, place.offset);
  return fmt::format("{}:{}", object, place.symbol);
}

// As a pattern: what would end it, or cannot be written in a line, is any text.
std::string pattern_of(std::string text) {
  for (std::size_t at = text.find("=>"); at != std::string::npos; at = text.find("=>")) {
    text.replace(at, 2, "*");
  }
  for (char& c : text) {
    if (c == '|' || c < ' ' || c > '~') c = '*';
  }
  return text;
}

}  // namespace

Result<Suppressions> Suppressions::parse(std::string_view text) {
  Suppressions out;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view content = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (content.empty() || content.starts_with('#')) continue;
    auto one = parse_line(content, line);
    if (!one) return std::unexpected(one.error());
    if (out.all_.size() == kMost) {
      return fail(ErrorCode::no_space, fmt::format("more than {} lines", kMost));
    }
    out.all_.push_back(std::move(*one));
  }
  return out;
}

Result<Suppressions> Suppressions::load(const std::string& path) {
  auto file = image::RegularFile::open(path);
  if (!file) return std::unexpected(file.error());
  const auto bytes = file->read_all(kLargestFile);
  if (!bytes) return std::unexpected(bytes.error());
  return parse({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
}

const Suppression* Suppressions::find(const Finding& finding, const session::Names& names) const {
  if (all_.empty()) return nullptr;
  const std::string from = end_of(finding, finding.branch.from, names);
  const std::string to = end_of(finding, finding.branch.to, names);
  const auto found = std::ranges::find_if(all_, [&](const Suppression& s) {
    return s.rule == finding.rule && fits(s.from, from) && fits(s.to, to);
  });
  return found == all_.end() ? nullptr : &*found;
}

std::string suppression_of(const Finding& finding, const session::Names& names) {
  return fmt::format("{} | {} => {}", finding.rule->name,
                     pattern_of(end_of(finding, finding.branch.from, names)),
                     pattern_of(end_of(finding, finding.branch.to, names)));
}

}  // namespace hodo::check
