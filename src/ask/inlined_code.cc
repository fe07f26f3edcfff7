#include "inlined_code.h"

#include <algorithm>
#include <optional>

#include "hodo/symbol/demangle.h"

namespace hodo::ask {
namespace {

// At pieces that may meet a line of code, of files that lie.
constexpr std::size_t kMostLooks = 1 << 14;

}  // namespace

std::optional<std::uint64_t> InlinedInFile::Call::entry_in(std::uint64_t from,
                                                           std::uint64_t to) const {
  const auto entry = std::ranges::lower_bound(entries, from);
  return entry != entries.end() && *entry < to ? std::optional(*entry) : std::nullopt;
}

bool InlinedInFile::Call::covers(std::uint64_t offset) const {
  const auto behind = std::ranges::upper_bound(pieces, offset, {}, &Spot::begin);
  return behind != pieces.begin() && offset < (behind - 1)->end;
}

InlinedInFile::InlinedInFile(std::vector<Call> calls) : calls_(std::move(calls)) {
  for (std::uint32_t i = 0; i < calls_.size(); ++i) {
    for (const Spot& piece : calls_[i].pieces) pieces_.push_back({.code = piece, .call = i});
  }
  std::ranges::sort(pieces_, {}, [](const Piece& piece) { return piece.code.begin; });
  std::uint64_t reach = 0;
  for (Piece& piece : pieces_) piece.reach = reach = std::max(reach, piece.code.end);
}

void InlinedInFile::add_meeting(std::uint64_t first, std::uint64_t last,
                                std::vector<std::uint32_t>& out) const {
  const auto begin = [](const Piece& piece) { return piece.code.begin; };
  auto it = std::ranges::upper_bound(pieces_, last, {}, begin);
  for (std::size_t looks = 0; looks < kMostLooks && it != pieces_.begin(); ++looks) {
    if ((--it)->reach <= first) break;
    if (it->code.end > first) out.push_back(it->call);
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
}

bool InlinedInFile::meets(std::uint64_t first, std::uint64_t last) const {
  const auto begin = [](const Piece& piece) { return piece.code.begin; };
  const auto behind = std::ranges::upper_bound(pieces_, last, {}, begin);
  return behind != pieces_.begin() && (behind - 1)->reach > first;
}

bool is_inlined_as(const analyze::Function& function, const analyze::Function& inlined) {
  return function.object == inlined.object &&
         (function.name == inlined.name || symbol::means(inlined.name, function.name));
}

std::unique_ptr<InlinedCode> InlinedCode::find(session::Session& session,
                                               const analyze::FunctionName& name) {
  Found found;
  for (const symbol::SymbolTable* table : session.names().tables()) {
    auto calls = table->inlined_calls(name.name());
    if (!calls.empty()) found.emplace(table, std::move(calls));
  }
  if (found.empty()) return nullptr;
  return std::unique_ptr<InlinedCode>(new InlinedCode(session, name, std::move(found)));
}

InlinedCode::InlinedCode(session::Session& session, const analyze::FunctionName& name, Found found)
    : name_(name),
      found_(std::move(found)),
      files_(session.names(), [this](const session::Object& object) { return calls_of(object); }) {}

std::optional<std::string> InlinedCode::only_name() const {
  if (found_.size() != 1) return std::nullopt;
  const std::vector<symbol::InlinedCall>& calls = found_.begin()->second;
  const std::string& name = calls.front().function;
  const bool one = std::ranges::all_of(
      calls, [&](const symbol::InlinedCall& call) { return call.function == name; });
  return one ? std::optional(symbol::demangle(name)) : std::nullopt;
}

std::uint32_t InlinedCode::number_of(const std::string& name, const std::string& object) {
  const auto same = std::ranges::find_if(functions_, [&](const analyze::Function& function) {
    return function.name == name && function.object == object;
  });
  if (same == functions_.end()) {
    functions_.push_back({.name = name, .object = object});
    return static_cast<std::uint32_t>(functions_.size() - 1);
  }
  return static_cast<std::uint32_t>(same - functions_.begin());
}

InlinedInFile InlinedCode::calls_of(const session::Object& object) {
  const auto found = found_.find(object.table);
  if (found == found_.end()) return {};
  const image::Elf& elf = object.table->elf();
  std::vector<InlinedInFile::Call> out;
  for (const symbol::InlinedCall& call : found->second) {
    const std::string name = symbol::demangle(call.function);
    if (!name_.means(name, object.path)) continue;
    InlinedInFile::Call one{.function = number_of(name, object.path)};
    for (const std::uint64_t entry : call.entries) {
      if (const auto offset = elf.offset_of(entry)) one.entries.push_back(*offset);
    }
    std::ranges::sort(one.entries);
    for (const symbol::InlinedCall::Range& range : call.ranges) {
      const auto offset = elf.offset_of(range.begin);
      const std::uint64_t size = range.end - range.begin;
      if (offset) one.pieces.push_back({*offset, *offset + size});
    }
    std::ranges::sort(one.pieces, {}, &Spot::begin);
    out.push_back(std::move(one));
  }
  return InlinedInFile(std::move(out));
}

bool InlinedCode::meets(std::uint32_t space, std::uint64_t first, std::uint64_t last,
                        std::uint64_t time) {
  const auto here = at(space, first, time);
  return here.known != nullptr && here.known->meets(first - here.delta, last - here.delta);
}

}  // namespace hodo::ask
