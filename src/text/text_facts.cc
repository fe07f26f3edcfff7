#include "text_facts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "hodo/base/byte_reader.h"

namespace hodo::text {
namespace {

// Lists are a count and the elements, as they lie in memory: who reads is who wrote.
template <class T>
void put(std::vector<std::uint8_t>& out, std::span<const T> list) {
  const std::uint64_t count = list.size();
  for (const auto bytes : {std::as_bytes(std::span(&count, 1)), std::as_bytes(list)}) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
    out.insert(out.end(), first, first + bytes.size());
  }
}

template <class T>
bool get(ByteReader& reader, std::vector<T>& list) {
  const auto count = reader.read<std::uint64_t>();
  if (!count || *count > reader.remaining() / sizeof(T)) return false;
  const auto bytes = reader.take(*count * sizeof(T));
  if (!bytes) return false;
  list.resize(static_cast<std::size_t>(*count));
  std::ranges::copy(*bytes, reinterpret_cast<std::uint8_t*>(list.data()));
  return true;
}

std::optional<KeptMarks> marks_in(ByteReader& reader, std::size_t bytes) {
  std::vector<KeptMarks::Row> rows;
  std::vector<Marks> rare;
  if (!get(reader, rows) || !get(reader, rare)) return std::nullopt;
  return KeptMarks::restore(bytes, std::move(rows), std::move(rare));
}

}  // namespace

std::vector<std::uint8_t> pack(const TextFacts& facts) {
  std::vector<std::uint8_t> out;
  const std::uint64_t complete = facts.complete ? 1 : 0;
  put(out, std::span(&complete, 1));
  for (const TextMap::Stretch& s : facts.text.stretches()) {
    put(out, s.kept.rows());
    put(out, s.kept.rare());
  }
  put(out, facts.functions.all());
  put(out, facts.functions.joined());
  put(out, std::span(facts.landings));
  put(out, std::span(facts.through_slots));
  put(out, std::span(facts.pointer_targets.untaken));
  put(out, std::span(facts.pointer_targets.exported));
  put(out, std::span(facts.pointer_targets.slots));
  return out;
}

bool unpack(std::span<const std::uint8_t> bytes, TextFacts& facts) {
  ByteReader reader(bytes);
  std::vector<std::uint64_t> complete;
  if (!get(reader, complete) || complete.size() != 1 || complete[0] > 1) return false;
  facts.complete = complete[0] == 1;
  for (std::size_t i = 0; i < facts.text.stretches().size(); ++i) {
    auto marks = marks_in(reader, facts.text.stretches()[i].bytes.size());
    if (!marks) return false;
    facts.text.set(i, std::move(*marks));
  }
  std::vector<Function> functions;
  std::vector<FunctionMap::Joined> joined;
  if (!get(reader, functions) || !get(reader, joined)) return false;
  auto map = FunctionMap::restore(std::move(functions), std::move(joined));
  if (!map || !get(reader, facts.landings) || !get(reader, facts.through_slots)) return false;
  facts.functions = std::move(*map);
  PointerTargets& targets = facts.pointer_targets;
  if (!get(reader, targets.untaken) || !get(reader, targets.exported)) return false;
  if (!get(reader, targets.slots)) return false;
  return std::ranges::is_sorted(facts.landings, {}, &LandingPad::begin) &&
         std::ranges::is_sorted(targets.untaken) && std::ranges::is_sorted(targets.exported) &&
         std::ranges::is_sorted(targets.slots, {}, &VirtualSlot::function) &&
         reader.remaining() == 0;
}

}  // namespace hodo::text
