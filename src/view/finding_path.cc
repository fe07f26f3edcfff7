#include "hodo/view/finding_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "hodo/view/place.h"

namespace hodo::view {
namespace {

constexpr std::size_t kLinesBefore = 6;
constexpr std::size_t kLinesAfter = 3;
constexpr std::size_t kMostNames = 3;

struct Spot {
  std::string function;
  bool quiet = false;
};

bool is_linker(std::string_view object) {
  return object.starts_with("ld-linux") || object.starts_with("ld-musl");
}

// Of strings and memory, however the library calls the version that this processor runs.
bool is_plain_library_function(std::string_view name) {
  constexpr std::array<std::string_view, 6> kBegin = {"str", "stp", "mem", "wcs", "wmem", "rawmem"};
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  return std::ranges::any_of(kBegin, [&](std::string_view b) { return name.starts_with(b); });
}

Spot spot_of(const check::Finding& finding, const session::Session& session, std::uint64_t address,
             std::uint64_t time) {
  if (address == 0) return {};
  const session::Place place = session.names().place(finding.who.space, address, time);
  const std::string object = object_name(place);
  if (is_linker(object)) return {object, true};
  const bool library = object.starts_with("libc.") || object.starts_with("libc-") || place.stub;
  return {function_name(address, place), library && is_plain_library_function(place.symbol)};
}

// Collects lines, and puts what is hidden between them together.
class PathLines {
 public:
  PathLines(const check::Finding& finding, const session::Session& session)
      : finding_(finding), session_(session) {}

  void add(const Branch& branch) {
    const Spot from = spot_of(finding_, session_, branch.from, branch.time);
    const Spot to = spot_of(finding_, session_, branch.to, branch.time);
    if (!from.quiet && !to.quiet && from.function != to.function) return show(branch, false);
    ++hidden_;
    const std::string& name = to.quiet ? to.function : from.function;
    if (std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
  }
  void show(const Branch& branch, bool itself) {
    hide();
    out_.push_back({.branch = &branch, .itself = itself});
  }
  std::vector<PathLine> finish() && {
    hide();
    return std::move(out_);
  }

 private:
  void hide() {
    if (hidden_ == 0) return;
    std::string where;
    for (std::size_t i = 0; i < std::min(names_.size(), kMostNames); ++i) {
      where += (i == 0 ? "" : ", ") + names_[i];
    }
    if (names_.size() > kMostNames) where += " and others";
    out_.push_back({.hidden = std::exchange(hidden_, 0), .where = std::move(where)});
    names_.clear();
  }

  const check::Finding& finding_;
  const session::Session& session_;
  std::vector<PathLine> out_;
  std::size_t hidden_ = 0;
  std::vector<std::string> names_;
};

std::size_t branches_in(std::span<const PathLine> lines) {
  std::size_t out = 0;
  for (const PathLine& line : lines) out += line.branch != nullptr ? 1 : line.hidden;
  return out;
}

std::vector<PathLine> lines_of(std::span<const Branch> branches, const check::Finding& finding,
                               const session::Session& session) {
  PathLines lines(finding, session);
  for (const Branch& branch : branches) lines.add(branch);
  return std::move(lines).finish();
}

}  // namespace

std::vector<PathLine> path_that_matters(const check::Finding& finding,
                                        const session::Session& session) {
  std::vector<PathLine> out = lines_of(finding.before, finding, session);
  if (out.size() > kLinesBefore) {
    const auto first = out.end() - static_cast<std::ptrdiff_t>(kLinesBefore);
    const std::size_t left_out = branches_in({out.begin(), first});
    out.erase(out.begin(), first);
    out.insert(out.begin(), {.hidden = left_out});
  }
  out.push_back({.branch = &finding.branch, .itself = true});
  std::vector<PathLine> after = lines_of(finding.after, finding, session);
  if (after.size() > kLinesAfter) {
    const std::size_t left_out = branches_in(std::span(after).subspan(kLinesAfter));
    after.resize(kLinesAfter);
    after.push_back({.hidden = left_out});
  }
  out.insert(out.end(), after.begin(), after.end());
  return out;
}

std::vector<PathLine> whole_path(const check::Finding& finding) {
  std::vector<PathLine> out;
  out.reserve(finding.before.size() + 1 + finding.after.size());
  for (const Branch& branch : finding.before) out.push_back({.branch = &branch});
  out.push_back({.branch = &finding.branch, .itself = true});
  for (const Branch& branch : finding.after) out.push_back({.branch = &branch});
  return out;
}

std::string hidden_text(const PathLine& line) {
  const char* const plural = line.hidden == 1 ? "" : "es";
  if (line.where.empty()) return fmt::format("{} more branch{}", line.hidden, plural);
  return fmt::format("{} branch{} in {}", line.hidden, plural, line.where);
}

}  // namespace hodo::view
