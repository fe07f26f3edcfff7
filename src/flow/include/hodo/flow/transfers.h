// Branches told in a few bytes each, by what was said of them before: for sinks that leave jumps
// out, since what they are told otherwise takes longer than the decoding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hodo/flow/branch.h"
#include "hodo/flow/call_spans.h"

namespace hodo::flow {

// What transfers are of: rows of branches, each from its number to one that is kLast, without time.
// `insns` of the first are those from where the row begins. It only grows, and what it has may be
// read by any thread that was told of it.
class TransferBook {
 public:
  // Among the flags.
  static constexpr std::uint8_t kLast = 1 << 7;
  static constexpr std::uint32_t kMost = std::uint32_t{1} << 22;
  // No row's number: the transfer is the next of Transfers::spans, or summed.
  static constexpr std::uint32_t kSpan = kMost;

  TransferBook();
  // No two books of a process have the same.
  std::uint32_t number() const { return number_; }
  const Branch& operator[](std::uint32_t at) const { return chunks_[at / kChunk][at % kChunk]; }
  // The row's number; 0: there is no room for it.
  std::uint32_t add(std::span<const Branch> row);
  std::uint32_t size() const { return size_; }

 private:
  static constexpr std::uint32_t kChunk = 1 << 12;
  std::uint32_t number_;
  std::uint32_t size_ = 1;
  std::array<std::unique_ptr<Branch[]>, kMost / kChunk> chunks_;
};

// A row of a book, executed, and what was left out before it.
struct Transfer {
  std::uint32_t what = 0;      // its number; 0: nothing but what was left out
  std::uint32_t branches = 0;  // so many were left out,
  std::uint32_t insns = 0;     // and instructions, up to where the row begins;
  std::uint32_t since = 0;     // of them, those behind the last branch, as far as is known
  std::uint64_t to = 0;        // where the row's last branch leads, if the book has 0 there
};

// What lines of code are told by: units of so many bytes, as a power of two.
inline constexpr unsigned kCodeUnitBits = 9;
// Code that ran from one instruction to another, without a taken branch between.
struct CodeLine {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// A batch of branches and transfers. Valid as the batch is.
struct Transfers {
  // Transfers one behind the other, of one time: that of the branch before them.
  struct Row {
    std::uint64_t time = 0;
    std::uint32_t begin = 0;  // so many of `walked` come before it
    std::uint32_t count = 0;  // of `list`, behind those of the rows before
  };

  std::span<const Branch> walked;  // that are in no transfer, in order
  std::span<const Row> rows;       // in order, by `begin`
  std::span<const Transfer> list;
  std::shared_ptr<const TransferBook> book;  // null: there are none

  // Of what was left out behind all that is told, the last branch; of kind `lost`: nothing was.
  Branch last;
  // With BranchSink::wants_lines(): code that ran, each unit of which something ran before the next
  // checkpoint at least once. The first since the last one comes first.
  std::span<const CodeLine> lines;

  // With BranchSink::call_judge():
  std::span<const CallSpan> spans;         // in the order of their transfers
  std::span<const ReturnedCall> returned;  // of all spans
  std::span<const OpenedCall> opened;      // likewise
  std::span<const SingleCall> singles;     // likewise
  std::span<const PassedCalls> passed;     // in the spans of this batch
  // Where calls that began in a span have returned to, of which CallOp::noted says so, of all
  // spans: what comes several times in a row is here once.
  std::span<const std::uint64_t> noted;
  // Without BranchSink::wants_lines(), instead of `spans`, `opened` and `passed`:
  std::span<const SummedSpan> summed;
  std::span<const CalledPath> paths;    // of all spans
  std::span<const LeftOpen> left_open;  // likewise

  bool empty() const { return walked.empty() && rows.empty() && lines.empty() && passed.empty(); }
};

// The branch of a book that a transfer with this `to` is of.
constexpr Branch branch_of(const Branch& written, std::uint64_t to, std::uint64_t time) {
  Branch out = written;
  if (out.to == 0) out.to = to;
  out.time = time;
  out.flags &= static_cast<std::uint8_t>(~TransferBook::kLast);
  return out;
}

}  // namespace hodo::flow
