#include "kept_calls.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "segments.h"

namespace hodo::ask {
namespace {

// Bytes that a row takes, about, and more than the rows of a decoding may take.
constexpr std::size_t kOfRow = 20;
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

// Nothing is called there that rows are made of.
bool is_nowhere(const Callee& callee) { return callee.first && callee.entry == 0; }

}  // namespace

RowKeeper::RowKeeper(const Index& index, analyze::Following& following,
                     const analyze::FunctionName& name, std::span<const std::size_t> decoded,
                     CallStore& store)
    : following_(following), store_(store) {
  choose_file();
  count(index, decoded);
  choose(name);
  if (keeps_meant_) rows_.emplace(store.write(file_));
}

// A free one, or the oldest, which goes.
void RowKeeper::choose_file() {
  std::uint64_t oldest = ~std::uint64_t{0};
  for (unsigned i = 0; i < CallStore::kFiles; ++i) {
    if (i == CallStore::kOfIndex) continue;
    const auto rows = CallRowsReader::open(store_.open(i));
    const std::uint64_t number = rows ? rows->number() : 0;
    number_ = std::max(number_, number + 1);
    if (number >= oldest) continue;
    oldest = number;
    file_ = i;
  }
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

void RowKeeper::choose(const analyze::FunctionName& name) {
  std::vector<std::pair<bool, std::uint32_t>> order;  // not asked for?
  for (std::uint32_t i = 0; i < known_.size(); ++i) {
    if (known_[i].calls == 0 || !known_[i].whole) continue;
    order.emplace_back(!name.means(following_.functions()[i]), i);
  }
  std::ranges::stable_sort(order, {}, [this](const auto& one) {
    return std::pair(one.first, known_[one.second].calls);
  });
  const std::uint64_t most = kMostBytes / kOfRow;
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
    const std::size_t rows = rows_->rows_of(i);
    if (known.kept && rows == known.calls && rows == known.begun) out[i].rows = rows;
  }
  return out;
}

void RowKeeper::store() {
  const std::vector<KeptFunction> all = functions();
  if (std::ranges::none_of(all, [](const KeptFunction& f) { return f.rows.has_value(); })) return;
  rows_->finish(all, number_);
  keep_within_room(store_);
}

void keep_within_room(CallStore& store) {
  std::vector<std::pair<std::uint64_t, unsigned>> files;  // newest first, but for the index's own
  std::map<unsigned, std::uint64_t> bytes;
  for (unsigned i = 0; i < CallStore::kFiles; ++i) {
    const auto rows = CallRowsReader::open(store.open(i));
    if (!rows) continue;
    const bool own = i == CallStore::kOfIndex;
    files.emplace_back(own ? 0 : ~rows->number(), i);
    bytes[i] = rows->bytes();
  }
  std::ranges::sort(files);
  std::uint64_t left = store.room();
  for (const auto& [order, file] : files) {
    if (bytes[file] > left) {
      store.forget(file);
    } else {
      left -= bytes[file];
    }
  }
}

namespace {

// Numbers them by their beginnings: of two with one branch the outer one ends later.
std::vector<CallRow> numbered(std::vector<KeptRow> kept) {
  std::vector<KeptRow*> begun;
  begun.reserve(kept.size());
  for (std::size_t i = kept.size(); i-- > 0;) begun.push_back(&kept[i]);
  std::ranges::stable_sort(begun, {}, [](const KeptRow* one) {
    return std::tuple(one->visit, one->row.at.branch, ~one->row.until.branch);
  });
  std::uint64_t number = 0;
  for (KeptRow* const one : begun) one->row.number = ++number;
  std::vector<CallRow> out;
  out.reserve(kept.size());
  for (const KeptRow& one : kept) out.push_back(one.row);
  return out;
}

std::optional<KeptCalls> calls_in(const CallRowsReader& all, const analyze::FunctionName& name) {
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

std::optional<KeptCalls> kept_calls(CallStore& store, const analyze::FunctionName& name) {
  for (unsigned i = 0; i < CallStore::kFiles; ++i) {
    const auto rows = CallRowsReader::open(store.open(i));
    if (!rows) continue;
    if (auto calls = calls_in(*rows, name)) return calls;
  }
  return std::nullopt;
}

}  // namespace hodo::ask
