#include "made_rows.h"

#include <algorithm>

namespace hodo::ask {

MadeRows::MadeRows(analyze::Following& following, CallStore& store, std::uint64_t trace)
    : following_(following),
      room_(store.room()),
      trace_(trace),
      most_(kAlways + trace / kBytesOfTrace),
      limit_(limit_at(0)),
      rows_(std::in_place, store.write(CallStore::kOfIndex)) {
  following.tell_single_calls();
}

void MadeRows::add(const CallRow& row, std::uint32_t visit) {
  if (!rows_ || is_dropped(row.function)) return;
  if (rows_->add(row, visit) == 1) functions_.push_back(row.function);
  if (++count_ > limit_) drop_most();
}

// Those with most rows, until a quarter of the room is free: then that of others grows for a while
// before somebody has to look again.
void MadeRows::drop_most() {
  std::ranges::sort(functions_, std::ranges::greater{},
                    [this](std::uint32_t f) { return rows_->rows_of(f); });
  std::size_t gone = 0;
  for (; gone < functions_.size() && count_ > limit_ - limit_ / 4; ++gone) {
    const std::uint32_t function = functions_[gone];
    if (function >= dropped_.size()) dropped_.resize(2 * std::size_t{function} + 1);
    dropped_[function] = true;
    count_ -= rows_->rows_of(function);
    rows_->drop(function);
  }
  functions_.erase(functions_.begin(), functions_.begin() + static_cast<std::ptrdiff_t>(gone));
  if (rows_->bytes() > room_) rows_.reset();
}

void MadeRows::finish(std::span<const std::uint64_t> calls) {
  if (!rows_) return;
  std::vector<KeptFunction> out;
  for (const analyze::Function& f : following_.functions()) out.push_back({.function = f});
  for (std::size_t i = 0; i < out.size() && i < calls.size(); ++i) {
    const std::size_t rows = rows_->rows_of(static_cast<std::uint32_t>(i));
    out[i].called = calls[i] != 0;
    if (rows != 0 && rows == calls[i]) out[i].rows = rows;
  }
  rows_->finish(out, 0);
}

}  // namespace hodo::ask
