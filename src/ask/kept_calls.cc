#include "kept_calls.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "segments.h"

namespace hodo::ask {
namespace {

constexpr std::uint64_t kRowsVersion = 1;
// Decodings whose rows are kept; the oldest go.
constexpr std::size_t kMostDecodings = 8;
// Bytes that a row takes, about, and more than the file may have, which is read as a whole.
constexpr std::size_t kOfRow = 20;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

// Nothing is called there that rows are made of.
bool is_nowhere(const Callee& callee) { return callee.first && callee.entry == 0; }

// The rows of decodings, the newest first; nothing of what makes no sense.
std::vector<std::span<const std::uint8_t>> decodings_in(std::span<const std::uint8_t> file) {
  NumberReader in(file);
  std::vector<std::span<const std::uint8_t>> out;
  if (in.number() != kRowsVersion) return out;
  for (std::size_t i = in.count(); i > 0; --i) out.push_back(in.bytes());
  if (!in.good() || !in.at_end()) out.clear();
  return out;
}

using Names = std::set<std::pair<std::string, std::string>>;

Names kept_in(std::span<const KeptFunction> functions) {
  Names out;
  for (const KeptFunction& f : functions) {
    if (f.rows) out.emplace(f.function.name, f.function.object);
  }
  return out;
}

// `newest` with those before it that have rows of their own, as far as there is room.
std::vector<std::uint8_t> with_older(std::span<const std::uint8_t> newest, const Names& kept,
                                     std::span<const std::uint8_t> file, std::size_t room) {
  std::vector<std::span<const std::uint8_t>> all{newest};
  std::size_t size = newest.size();
  for (const auto older : decodings_in(file)) {
    if (all.size() == kMostDecodings || older.size() > room - std::min(room, size)) break;
    const auto rows = CallRowsReader::open(older);
    if (!rows || std::ranges::includes(kept, kept_in(rows->functions()))) continue;
    all.push_back(older);
    size += older.size();
  }
  NumberWriter out;
  out.number(kRowsVersion);
  out.number(all.size());
  for (const auto one : all) out.bytes(one);
  return out.take();
}

std::size_t room_of(const CallStore& store) { return std::min(store.room(), kMostBytes); }

}  // namespace

RowKeeper::RowKeeper(const Index& index, analyze::Following& following, const FunctionName& name,
                     std::span<const std::size_t> decoded, CallStore& store)
    : following_(following), store_(store) {
  count(index, decoded);
  choose(name);
}

void RowKeeper::count(const Index& index, std::span<const std::size_t> decoded) {
  std::vector<std::uint32_t> functions;  // by callee
  for (const Callee& callee : index.callees()) {
    functions.push_back(following_.function_of(callee.space, callee.as_call()));
  }
  const auto known = [this](std::uint32_t function) -> Known& {
    if (function >= known_.size()) known_.resize(std::size_t{function} + 1);
    return known_[function];
  };
  const auto segments = index.segments();
  IndexCursor cursor(index);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool in = !decoded.empty() && decoded.front() == i;
    if (in) decoded = decoded.subspan(1);
    for (const CalleeCount& c : index.ran(i).callees) {
      if (is_nowhere(index.callees()[c.callee])) continue;
      Known& of = known(functions[c.callee]);
      of.calls += c.opened;
      of.whole &= in;
    }
    if (in || next_of_thread(segments, i) != segments.size()) continue;
    // How long a call was that is open at the end is known there.
    cursor.move_to(i);
    const analyze::SavedCalls calls = cursor.calls();
    for (const analyze::SavedCall& call : calls.open) {
      known(following_.function_of(calls.space, call)).whole = false;
    }
  }
}

void RowKeeper::choose(const FunctionName& name) {
  std::vector<std::pair<bool, std::uint32_t>> order;  // not asked for?
  for (std::uint32_t i = 0; i < known_.size(); ++i) {
    if (known_[i].calls == 0 || !known_[i].whole) continue;
    order.emplace_back(!name.means(following_.functions()[i]), i);
  }
  std::ranges::stable_sort(order, {}, [this](const auto& one) {
    return std::pair(one.first, known_[one.second].calls);
  });
  const std::size_t most = room_of(store_) / kOfRow;
  std::uint64_t rows = 0;
  for (const auto& [other, function] : order) {
    if (known_[function].calls > most - rows) break;
    rows += known_[function].calls;
    keeps_meant_ |= !other;
    known_[function].kept = true;
  }
}

std::vector<KeptFunction> RowKeeper::functions() const {
  std::vector<KeptFunction> out;
  for (const analyze::Function& f : following_.functions()) out.push_back({.function = f});
  for (std::uint32_t i = 0; i < known_.size(); ++i) {
    const Known& known = known_[i];
    out[i].called = known.calls != 0;
    // As many as the index has, and all have ended.
    const std::size_t rows = rows_.rows_of(i);
    if (known.kept && rows == known.calls && rows == known.begun) out[i].rows = rows;
  }
  return out;
}

void RowKeeper::store() {
  const std::vector<KeptFunction> all = functions();
  const Names kept = kept_in(all);
  if (kept.empty()) return;
  const std::vector<std::uint8_t> rows = rows_.take(all);
  const std::size_t room = room_of(store_);
  if (rows.size() > room) return;
  store_.store(with_older(rows, kept, store_.load().value_or(std::vector<std::uint8_t>()), room));
}

namespace {

// Numbers them by their beginnings.
std::vector<CallRow> numbered(std::vector<KeptRow> kept) {
  std::ranges::sort(kept, {}, &KeptRow::begun);
  std::uint64_t number = 0;
  for (KeptRow& one : kept) one.row.number = ++number;
  std::ranges::sort(kept, {}, &KeptRow::ended);
  std::vector<CallRow> out;
  out.reserve(kept.size());
  for (const KeptRow& one : kept) out.push_back(one.row);
  return out;
}

std::optional<KeptCalls> calls_in(const CallRowsReader& all, const FunctionName& name) {
  KeptCalls out;
  const auto functions = all.functions();
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    if (!functions[i].called || !name.means(functions[i].function)) continue;
    if (!functions[i].rows) return std::nullopt;
    out.meant.push_back(i);
  }
  if (out.meant.empty()) return std::nullopt;
  std::vector<KeptRow> kept;
  for (const std::uint32_t function : out.meant) {
    if (!all.read(function, kept)) return std::nullopt;
  }
  out.rows = numbered(std::move(kept));
  for (const KeptFunction& f : functions) out.functions.push_back(f.function);
  return out;
}

}  // namespace

std::optional<KeptCalls> kept_calls(CallStore& store, const FunctionName& name) {
  const auto file = store.load();
  if (!file) return std::nullopt;
  for (const auto decoding : decodings_in(*file)) {
    const auto rows = CallRowsReader::open(decoding);
    if (!rows) continue;
    if (auto calls = calls_in(*rows, name)) return calls;
  }
  return std::nullopt;
}

}  // namespace hodo::ask
