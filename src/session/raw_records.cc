#include "raw_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "bts_records.h"
#include "lbr_dump.h"
#include "record_path.h"

namespace hodo::session {
namespace {

// Between two reports of progress, and two questions whether the user has enough.
constexpr std::size_t kStep = 1 << 20;
// A dump of registers has a few KiB; all of it is taken apart in memory.
constexpr std::size_t kMaxDump = std::size_t{64} << 20;

BranchKind kind_of(hw::BranchClass type) {
  switch (type) {
    case hw::BranchClass::cond:
      return BranchKind::cond;
    case hw::BranchClass::ind_jmp:
      return BranchKind::ijmp;
    case hw::BranchClass::rel_jmp:
      return BranchKind::jmp;
    case hw::BranchClass::ind_call:
      return BranchKind::icall;
    case hw::BranchClass::rel_call:
      return BranchKind::call;
    case hw::BranchClass::ret:
      return BranchKind::ret;
    case hw::BranchClass::other:
      return BranchKind::unknown;  // which of them, only the code says
  }
  return BranchKind::unknown;
}

RecordedBranch recorded(const hw::LbrEntry& entry) {
  RecordedBranch out{.from = entry.from, .to = entry.to, .cycles = entry.cycles};
  if (entry.type) out.kind = kind_of(*entry.type);
  if (entry.mispredicted) out.flags |= kMispredicted;
  if (entry.in_tx) out.flags |= kInTx;
  if (entry.abort) out.kind = BranchKind::abort;
  return out;
}

}  // namespace

Result<std::unique_ptr<Session>> RawRecords::open(const Options& options) {
  auto trace = RawTrace::open(options);
  if (!trace) return std::unexpected(trace.error());
  auto raw = std::unique_ptr<RawRecords>(new RawRecords(std::move(*trace)));
  raw->queue_.bytes = raw->trace_.bytes().size();
  raw->mode_ = options.raw->mode;
  raw->kind_ = options.raw->kind;
  const Status status = raw->kind_ == RawKind::bts ? raw->read_bts(*options.raw) : raw->read_lbr();
  if (!status) return std::unexpected(status.error());
  return raw;
}

Status RawRecords::read_bts(const RawInput& input) {
  if (input.record_size != 0) {
    layout_ = input.record_size == hw::bts_record_bytes(hw::DsLayout::bits64)
                  ? hw::DsLayout::bits64
                  : hw::DsLayout::bits32;
  } else {
    auto layout = detect_layout(trace_.bytes());
    if (!layout) return std::unexpected(layout.error());
    layout_ = *layout;
  }
  return input.index ? begin_at(*input.index) : Status();
}

// The buffer has been filled up to its end at least once, or what lies behind the index was never
// written to.
Status RawRecords::begin_at(std::uint64_t index) {
  const auto bytes = trace_.bytes();
  const std::size_t size = hw::bts_record_bytes(layout_);
  if (index > bytes.size() || index % size != 0 || bytes.size() % size != 0) {
    return fail(ErrorCode::usage, fmt::format("--index {}: the buffer has {} bytes, records of {}",
                                              index, bytes.size(), size));
  }
  const auto behind = bytes.subspan(static_cast<std::size_t>(index));
  if (std::ranges::all_of(behind, [](std::uint8_t byte) { return byte == 0; })) {
    end_ = static_cast<std::size_t>(index);
  } else {
    oldest_ = static_cast<std::size_t>(index);
  }
  return {};
}

Status RawRecords::read_lbr() {
  if (trace_.bytes().size() > kMaxDump) {
    return fail(ErrorCode::no_space, "the file is larger than any dump of LBR registers (64 MiB)");
  }
  const std::string_view text(reinterpret_cast<const char*>(trace_.bytes().data()),
                              trace_.bytes().size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != text.npos && (text[first] == '{' || text[first] == '[');
  auto dumps = json ? parse_lbr_json(text) : parse_lbr_dump(text);
  if (!dumps) return std::unexpected(dumps.error());
  if (dumps->empty()) return fail(ErrorCode::malformed, "the dump has no LBR registers");
  for (const LbrDump& dump : *dumps) {
    auto stack = newest_first(dump);
    if (!stack) return std::unexpected(stack.error());
    stacks_.push_back(std::move(*stack));
  }
  return {};
}

void RawRecords::add_part(BtsRecords& records, std::size_t from, std::size_t to, RecordPath& path,
                          const DecodeOptions& options, flow::Stats& stats) const {
  const auto bytes = trace_.bytes();
  for (std::size_t at = from; at < to && !path.stopped(); at += kStep) {
    const auto step = bytes.subspan(at, std::min(kStep, to - at));
    records.add(step, at);
    stats.bytes += step.size();
    if (options.progress) options.progress(stats.bytes, bytes.size());
  }
}

void RawRecords::add_bts(RecordPath& path, const DecodeOptions& options, flow::Stats& stats,
                         LossTally& losses) const {
  BtsRecords records(layout_, path);
  const std::size_t end = std::min(end_, trace_.bytes().size());
  add_part(records, oldest_, end, path, options, stats);
  add_part(records, 0, oldest_, path, options, stats);
  const std::size_t rest = records.cut();
  if (rest == 0 || path.stopped()) return;
  stats.skipped_bytes += rest;
  const flow::LossCause cause = flow::LossCause::truncated;
  ++stats.losses[static_cast<std::size_t>(cause)];
  losses.add(flow::name(cause), {.offset = end - rest, .reason = "the records end inside of one"},
             rest);
}

void RawRecords::add_lbr(RecordPath& path, flow::Stats& stats) const {
  for (const auto& stack : stacks_) {
    bool first = true;
    for (const hw::LbrEntry& entry : std::views::reverse(stack)) {
      if (entry.wrong_path) {
        ++stats.wrong_path;
        continue;
      }
      if (std::exchange(first, false)) path.restart(entry.from);
      path.add(recorded(entry));
    }
  }
  stats.bytes = trace_.bytes().size();
}

Result<Outcome> RawRecords::decode(const DecodeOptions& options, BranchSink& sink) {
  Outcome outcome;
  outcome.queue_stats.resize(1);
  flow::Stats& stats = outcome.queue_stats[0];
  LossTally losses;
  RecordPath path(
      sink, stats, losses,
      [](const Context&, const flow::Loss&) { return std::optional<Explanation>(); },
      options.not_taken);
  // Nobody says whether the kernel was recorded: a system call may be missing.
  path.enter({.who = {.space = 0},
              .code = &trace_.code(),
              .mode = mode_,
              .unrecorded = Unrecorded::system_calls});
  if (selected(options.selection, -1, -1)) {
    kind_ == RawKind::bts ? add_bts(path, options, stats, losses) : add_lbr(path, stats);
  }
  path.finish();
  outcome.stats = stats;
  outcome.losses = losses.lines();
  return outcome;
}

Result<Outcome> RawRecords::packets(const DecodeOptions&, PacketSink&) {
  return fail(ErrorCode::unsupported,
              "has branch records, which are no packets; 'hodo branches' lists them");
}

}  // namespace hodo::session
