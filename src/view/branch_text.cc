#include "branch_text.h"

#include <fmt/format.h>

#include <iterator>

#include "branch_flags.h"
#include "hodo/view/place.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

constexpr std::size_t kKnownPlaces = 1 << 16;

}  // namespace

void TextBranches::enter(const session::Context& c) {
  auto number = [](std::int32_t value) { return value < 0 ? "?" : std::to_string(value); };
  who_ = fmt::format("{:>7}/{:<7}", number(c.pid), number(c.tid));
  if (c.cpu >= 0) who_ += fmt::format(" [{:03}]", c.cpu);
}

const std::string& TextBranches::place(const session::Context& c, std::uint64_t address,
                                       std::uint64_t time) {
  std::uint64_t generation = names_ == nullptr ? 0 : names_->generation(c.space, time);
  std::uint64_t key = std::uint64_t{c.space} << 32 | generation;
  if (key != known_for_ || known_.size() >= kKnownPlaces) known_.clear();
  known_for_ = key;
  auto [it, fresh] = known_.try_emplace(address);
  if (fresh) {
    session::Place where;
    if (names_ != nullptr) where = names_->place(c.space, address, time);
    it->second = describe(address, where, options().style);
    if (names_ != nullptr && options().source.any()) {
      auto frames = session::source_of(names_->object(c.space, address, time));
      std::string source = source_text(frames, options().source);
      if (!source.empty()) it->second += " " + options().style.paint(Tone::dim, source);
    }
  }
  return it->second;
}

void TextBranches::write(const session::Context& c, const Branch& branch, std::uint64_t time) {
  std::string& line = out().buffer();
  line += who_;
  if (time != 0) {
    line += ' ';
    line += options().clock.known() ? seconds(time) : fmt::format("{}", time);
    line += ':';
  }
  fmt::format_to(std::back_inserter(line), "  {:<7} ", name(branch.kind));
  line += branch.from == 0 ? std::string("-") : place(c, branch.from, branch.time);
  line += " => ";
  line += branch.to == 0 ? std::string("-") : place(c, branch.to, branch.time);
  if (branch.flags != 0) fmt::format_to(std::back_inserter(line), "  {}", flag_names(branch.flags));
  if (branch.cycles != 0) {
    fmt::format_to(std::back_inserter(line), "  {} cycles", branch.cycles);
  }
  line += '\n';
  out().checkpoint();
}

}  // namespace hodo::view
