#include "difference_words.h"

#include <fmt/format.h>

#include <ranges>
#include <utility>

#include "hodo/symbol/demangle.h"
#include "hodo/view/place.h"
#include "hodo/view/text.h"

namespace hodo::view {
namespace {

std::string source_at(session::Session& session, const session::Context& who, std::uint64_t address,
                      std::uint64_t time) {
  if (address == 0) return "";
  return source_line(session::source_of(session.names().object(who.space, address, time)));
}

}  // namespace

std::string place_text(session::Session& session, const session::Context& who,
                       std::uint64_t address, std::uint64_t time) {
  if (address == 0) return "nowhere that is traced";
  const std::string line = source_at(session, who, address, time);
  const std::string place =
      describe(address, session.names().place(who.space, address, time), Style{});
  return line.empty() ? place : fmt::format("{}  {}", line, place);
}

std::string way_text(const ask::Side& side, const ask::Scene& scene) {
  session::Session& session = *side.session;
  if (scene.after.empty()) return "the path ends";
  const ask::Passed& next = scene.after.front();
  const Branch& b = next.branch;
  if (b.kind == BranchKind::lost) return "the path is lost";
  if (b.from != scene.address && b.from != 0) {
    return fmt::format("goes on, to the {} at {}", name(b.kind),
                       place_text(session, next.who, b.from, b.time));
  }
  const std::string_view how = (b.flags & kAsync) != 0 ? " (a signal or interrupt)" : "";
  if (b.to == 0) return fmt::format("leaves the trace: {}{}", name(b.kind), how);
  return fmt::format("{}{} to {}", name(b.kind), how, place_text(session, next.who, b.to, b.time));
}

std::string meeting_text(const ask::Comparison& compared) {
  const ask::Parting& parting = compared.partings.front();
  if (!parting.a_meet) {
    return compared.more ? "not within the branches that were looked at" : "not before they end";
  }
  const std::uint64_t in_a = parting.a_meet->branch - parting.a.branch;
  const std::uint64_t in_b = parting.b_meet->branch - parting.b.branch;
  return fmt::format("A {} after {} branch{}, B {} after {}", to_string(*parting.a_meet),
                     grouped(in_a), in_a == 1 ? "" : "es", to_string(*parting.b_meet),
                     grouped(in_b));
}

PartingPlace parting_place(const ComparedPaths& paths, const ask::Parting& parting) {
  const ask::Parting::Place& at = parting.at;
  if (at.address == 0) return {.function = "-", .line = ""};
  const session::Names& names = (at.in_b ? paths.b : paths.a).session->names();
  const session::Place place = names.place(at.space, at.address, at.time);
  std::string function = function_name(at.address, place);
  if (!place.symbol.empty()) function += fmt::format("+{:#x}", place.offset);
  return {.function = std::move(function),
          .line = source_line(session::source_of(names.object(at.space, at.address, at.time)))};
}

std::vector<const ask::Parting*> some_partings(std::span<const ask::Parting> partings,
                                               std::size_t most) {
  std::vector<const ask::Parting*> out;
  for (const ask::Parting& parting : partings | std::views::take(most)) out.push_back(&parting);
  if (!out.empty()) out.back() = &partings.back();
  return out;
}

std::string alike_text(const ask::Comparison& comparison) {
  const ask::Comparison& c = comparison;
  const std::string sizes =
      fmt::format("{} and {} branches, ", grouped(c.a_branches), grouped(c.b_branches));
  if (!c.partings.empty() || c.more)
    return sizes + fmt::format("the first {} alike", grouped(c.common));
  return sizes + "the same path but for how long it waited";
}

std::string waits_text(const ask::Comparison& comparison) {
  const std::size_t count = comparison.waits.size();
  return fmt::format("{} time{} one waited for other threads where the other did not, or not so",
                     grouped(count), count == 1 ? "" : "s");
}

std::string executed_text(const ask::Executed& what) {
  using Kind = ask::Executed::Kind;
  if (what.kind == Kind::function) {
    std::string name = printable(symbol::demangle(what.name));
    if (!what.source.empty()) name += fmt::format(" ({})", printable(what.source));
    if (what.nth != 0) name += fmt::format(", number {}", what.nth + 1);
    return name;
  }
  std::string out = fmt::format("{}:{}", printable(what.name), what.line);
  if (what.kind == Kind::taken || what.kind == Kind::not_taken) {
    out += fmt::format(" branch {} {}", what.nth + 1,
                       what.kind == Kind::taken ? "taken" : "not taken");
  }
  return out;
}

}  // namespace hodo::view
