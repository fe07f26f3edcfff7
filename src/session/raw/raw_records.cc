#include "raw_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <utility>

#include "lbr_dump.h"
#include "records/bts_records.h"
#include "records/record_path.h"

namespace hodo::session {
namespace {

// Between two reports of progress, and two questions whether the user has enough.
constexpr std::uint64_t kRawStep = 1 << 20;
// A dump of registers has a few KiB; its branches are kept in memory.
constexpr std::uint64_t kMaxDump = 64 << 20;

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
  raw->queue_.bytes = raw->trace_.size();
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
    auto first = first_bytes(kRawStep);
    if (!first) return std::unexpected(first.error());
    auto layout = detect_layout(*first);
    if (!layout) return std::unexpected(layout.error());
    layout_ = *layout;
  }
  return input.index ? begin_at(*input.index) : Status();
}

Result<std::vector<std::uint8_t>> RawRecords::first_bytes(std::uint64_t most) const {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(std::min(most, trace_.size())));
  if (Status status = trace_.read(0, bytes); !status) return std::unexpected(status.error());
  return bytes;
}

// The buffer has been filled up to its end at least once, or what lies behind the index was never
// written to.
Status RawRecords::begin_at(std::uint64_t index) {
  const std::size_t size = hw::bts_record_bytes(layout_);
  if (index > trace_.size() || index % size != 0 || trace_.size() % size != 0) {
    return fail(ErrorCode::usage, fmt::format("--index {}: the buffer has {} bytes, records of {}",
                                              index, trace_.size(), size));
  }
  std::vector<std::uint8_t> step;
  for (std::uint64_t at = index; at < trace_.size(); at += step.size()) {
    step.resize(static_cast<std::size_t>(std::min(kRawStep, trace_.size() - at)));
    if (Status status = trace_.read(at, step); !status) return status;
    if (std::ranges::all_of(step, [](std::uint8_t byte) { return byte == 0; })) continue;
    oldest_ = index;
    return {};
  }
  end_ = index;
  return {};
}

Status RawRecords::read_lbr() {
  if (trace_.size() > kMaxDump) {
    return fail(ErrorCode::no_space, "the file is larger than any dump of LBR registers (64 MiB)");
  }
  const auto bytes = first_bytes(kMaxDump);
  if (!bytes) return std::unexpected(bytes.error());
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != text.npos && (text[first] == '{' || text[first] == '[');
  const auto take = [&](LbrDump dump) -> Status {
    auto stack = newest_first(std::move(dump));
    if (!stack) return std::unexpected(stack.error());
    stacks_.push_back(std::move(*stack));
    return {};
  };
  Status read = json ? parse_lbr_json(text, take) : parse_lbr_dump(text, take);
  if (read && stacks_.empty()) {
    return fail(ErrorCode::malformed, "the dump has no LBR registers");
  }
  return read;
}

Status RawRecords::add_part(BtsRecords& records, std::uint64_t from, std::uint64_t to,
                            RecordPath& path, const DecodeOptions& options,
                            flow::Stats& stats) const {
  std::vector<std::uint8_t> step;
  for (std::uint64_t at = from; at < to && !path.stopped(); at += step.size()) {
    step.resize(static_cast<std::size_t>(std::min(kRawStep, to - at)));
    if (Status status = trace_.read(at, step); !status) return status;
    records.add(step, at);
    stats.bytes += step.size();
    if (!options.progress(stats.bytes, trace_.size())) return was_stopped();
  }
  return {};
}

Status RawRecords::add_bts(RecordPath& path, const DecodeOptions& options, flow::Stats& stats,
                           LossTally& losses) const {
  BtsRecords records(layout_, path);
  const std::uint64_t end = std::min(end_, trace_.size());
  Status status = add_part(records, oldest_, end, path, options, stats);
  if (status) status = add_part(records, 0, oldest_, path, options, stats);
  if (!status) return status;
  const std::size_t rest = records.cut();
  if (rest == 0 || path.stopped()) return {};
  stats.skipped_bytes += rest;
  const flow::LossCause cause = flow::LossCause::truncated;
  ++stats.losses[static_cast<std::size_t>(cause)];
  losses.add(flow::name(cause), {.offset = end - rest, .reason = "the records end inside of one"},
             rest);
  return {};
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
  stats.bytes = trace_.size();
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
    if (kind_ == RawKind::bts) {
      Status status = add_bts(path, options, stats, losses);
      if (!status) return std::unexpected(status.error());
    } else {
      add_lbr(path, stats);
    }
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
