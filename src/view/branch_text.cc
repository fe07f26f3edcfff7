#include "branch_text.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "branch_flags.h"
#include "hodo/view/place.h"
#include "hodo/view/text.h"

namespace hodo::view {
TextBranches::TextBranches(const BranchListOptions& options, const session::Names* names,
                           std::mutex& asking)
    : BranchWriter(options), names_(names), asking_(asking) {
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    kinds_[kind] = fmt::format("  {:<7} ", name(static_cast<BranchKind>(kind)));
  }
}

void TextBranches::enter(const session::Context& c) {
  auto number = [](std::int32_t value) { return value < 0 ? "?" : std::to_string(value); };
  who_ = fmt::format("{:>7}/{:<7}", number(c.pid), number(c.tid));
  if (c.cpu >= 0) who_ += fmt::format(" [{:03}]", c.cpu);
  entered_ = true;
}

// What follows is of this branch's time.
void TextBranches::move_to(const session::Context& c, const Branch& branch, std::uint64_t time) {
  before_ = who_;
  if (time != 0) {
    before_ += ' ';
    before_ += options().clock.known() ? seconds(time) : fmt::format("{}", time);
    before_ += ':';
  }
  std::uint64_t naming = 0;
  if (names_ != nullptr) {
    const std::lock_guard lock(asking_);
    naming = names_->naming(c.space, branch.time);
  }
  const std::uint64_t key = std::uint64_t{c.space} << 32 | naming;
  if (std::exchange(known_for_, key) != key) known_.clear();
  ticks_ = branch.time;
  entered_ = false;
}

std::string_view TextBranches::place(const session::Context& c, std::uint64_t address,
                                     std::uint64_t time) {
  if (address == 0) return "-";
  if (const std::string_view known = known_.find(address); known.data() != nullptr) return known;
  const std::lock_guard lock(asking_);
  session::Place where;
  if (names_ != nullptr) where = names_->place(c.space, address, time);
  std::string text = describe(address, where, options().style);
  if (names_ != nullptr && options().source.any()) {
    auto frames = session::source_of(names_->object(c.space, address, time));
    const std::string source = source_text(frames, options().source);
    if (!source.empty()) text += " " + options().style.paint(Tone::dim, source);
  }
  return known_.put(address, text);
}

void TextBranches::write_one(const session::Context& c, const Branch& branch, std::uint64_t time,
                             std::string& out) {
  if (entered_ || branch.time != ticks_) move_to(c, branch, time);
  out += before_;
  out += kinds_[static_cast<std::size_t>(branch.kind)];
  out += place(c, branch.from, branch.time);
  out += " => ";
  out += place(c, branch.to, branch.time);
  if (branch.flags != 0) fmt::format_to(std::back_inserter(out), "  {}", flag_names(branch.flags));
  if (branch.cycles != 0) {
    fmt::format_to(std::back_inserter(out), "  {} cycles", branch.cycles);
  }
  out += '\n';
}

}  // namespace hodo::view
