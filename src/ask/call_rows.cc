#include "call_rows.h"

#include <utility>

namespace hodo::ask {
namespace {

// Bytes that a row and a function's name take at least.
constexpr std::size_t kLeastOfRow = 11;
constexpr std::size_t kLeastOfFunction = 3;
constexpr std::size_t kLeastOfWho = 4;
constexpr unsigned kOutcomeBits = 3;

constexpr std::uint64_t kCalled = 1;
constexpr std::uint64_t kHasRows = 2;
constexpr std::uint64_t kSynthetic = 4;

std::uint64_t coded(std::int32_t number) {
  return static_cast<std::uint64_t>(std::int64_t{number} + 1);
}

std::int32_t number_in(NumberReader& in) {
  return static_cast<std::int32_t>(static_cast<std::int64_t>(in.number(std::uint64_t{1} << 31)) -
                                   1);
}

}  // namespace

std::uint32_t CallRowsWriter::number_of(const Who& who) {
  const auto [it, fresh] = numbers_.try_emplace(who, static_cast<std::uint32_t>(who_.size()));
  if (fresh) who_.push_back(who);
  return it->second;
}

// Of a row that is like the one before it most numbers are small.
void CallRowsWriter::add(const KeptRow& kept) {
  const CallRow& row = kept.row;
  if (row.function >= streams_.size()) streams_.resize(std::size_t{row.function} + 1);
  Stream& stream = streams_[row.function];
  const CallRow& before = stream.before.row;
  NumberWriter& out = stream.out;
  const std::uint64_t who = number_of({row.at.thread, row.pid, row.space});
  out.number(who << kOutcomeBits | static_cast<std::uint64_t>(row.outcome));
  out.step(stream.before.begun, kept.begun);
  out.number(kept.ended - stream.before.ended);
  out.step(before.at.branch, row.at.branch);
  out.number(row.until.branch - row.at.branch);
  out.step(before.time, row.time);
  out.step(before.ticks, row.ticks);
  out.number(row.duration);
  out.number(row.instructions);
  out.step(before.site, row.site);
  out.number(row.caller + std::uint32_t{1});  // of nobody 0
  stream.before = kept;
  ++stream.rows;
}

std::size_t CallRowsWriter::rows_of(std::uint32_t function) const {
  return function < streams_.size() ? streams_[function].rows : 0;
}

std::size_t CallRowsWriter::bytes_of(std::uint32_t function) const {
  return function < streams_.size() ? streams_[function].out.size() : 0;
}

std::vector<std::uint8_t> CallRowsWriter::take(std::span<const KeptFunction> functions) {
  streams_.resize(functions.size());
  NumberWriter out;
  out.number(functions.size());
  for (const KeptFunction& f : functions) {
    out.text(f.function.name);
    out.text(f.function.object);
    out.number((f.called ? kCalled : 0) | (f.rows ? kHasRows : 0) |
               (f.function.synthetic ? kSynthetic : 0));
  }
  out.number(who_.size());
  for (const Who& who : who_) {
    out.number(coded(who.thread.tid));
    out.number(who.thread.queue);
    out.number(coded(who.pid));
    out.number(who.space);
  }
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (!functions[i].rows) continue;
    out.number(streams_[i].rows);
    out.bytes(streams_[i].out.take());
  }
  return out.take();
}

std::optional<CallRowsReader> CallRowsReader::open(std::span<const std::uint8_t> bytes) {
  constexpr std::uint64_t kMost32 = ~std::uint32_t{0};
  NumberReader in(bytes);
  CallRowsReader out;
  for (std::size_t i = in.count(kLeastOfFunction); i > 0 && in.good(); --i) {
    KeptFunction& f = out.functions_.emplace_back();
    f.function.name = in.text();
    f.function.object = in.text();
    const std::uint64_t how = in.number(kCalled | kHasRows | kSynthetic);
    f.called = (how & kCalled) != 0;
    if ((how & kHasRows) != 0) f.rows = 0;
    f.function.synthetic = (how & kSynthetic) != 0;
  }
  for (std::size_t i = in.count(kLeastOfWho); i > 0 && in.good(); --i) {
    Who& who = out.who_.emplace_back();
    who.thread.tid = number_in(in);
    who.thread.queue = static_cast<std::uint32_t>(in.number(kMost32));
    who.pid = number_in(in);
    who.space = static_cast<std::uint32_t>(in.number(kMost32));
  }
  out.streams_.resize(out.functions_.size());
  for (std::size_t i = 0; i < out.functions_.size() && in.good(); ++i) {
    if (!out.functions_[i].rows) continue;
    out.functions_[i].rows = static_cast<std::size_t>(in.number());
    out.streams_[i] = in.bytes();
    if (*out.functions_[i].rows > out.streams_[i].size() / kLeastOfRow) in.refuse();
  }
  if (!in.good() || !in.at_end()) return std::nullopt;
  return out;
}

bool CallRowsReader::read_row(NumberReader& in, KeptRow& kept) const {
  constexpr auto kLastOutcome = static_cast<std::uint64_t>(CallRow::Outcome::open);
  CallRow& row = kept.row;
  const std::uint64_t who = in.number();
  if (who >> kOutcomeBits >= who_.size()) return false;
  const std::uint64_t outcome = who & ((std::uint64_t{1} << kOutcomeBits) - 1);
  if (outcome > kLastOutcome) return false;
  row.outcome = static_cast<CallRow::Outcome>(outcome);
  const Who& of = who_[static_cast<std::size_t>(who >> kOutcomeBits)];
  row.at.thread = row.until.thread = of.thread;
  row.pid = of.pid;
  row.space = of.space;
  kept.begun = in.step(kept.begun);
  kept.ended += in.number();
  row.at.branch = in.step(row.at.branch);
  row.until.branch = row.at.branch + in.number();
  row.time = in.step(row.time);
  row.ticks = in.step(row.ticks);
  row.duration = in.number();
  row.instructions = in.number();
  row.site = in.step(row.site);
  row.caller = static_cast<std::uint32_t>(in.number(functions_.size())) - 1;
  return in.good();
}

bool CallRowsReader::read(std::uint32_t function, std::vector<KeptRow>& out) const {
  NumberReader in(streams_[function]);
  KeptRow kept;
  kept.row.function = function;
  out.reserve(out.size() + *functions_[function].rows);
  for (std::size_t i = *functions_[function].rows; i > 0; --i) {
    if (!read_row(in, kept)) return false;
    out.push_back(kept);
  }
  return in.at_end();
}

}  // namespace hodo::ask
