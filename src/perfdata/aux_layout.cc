#include "aux_layout.h"

#include <algorithm>
#include <optional>
#include <string>

#include "hodo/perfdata/sums.h"
#include "overlap.h"

namespace hodo::perfdata {
namespace {

using Bytes = std::vector<std::uint8_t>;

// No ring is larger: what two snapshots of one have in common is looked for in that much.
constexpr std::uint64_t kLargestRing = std::uint64_t{1} << 30;

// `size` bytes of the piece from `skip` on; nullopt: they cannot be read. Whoever reads the trace
// is told why.
std::optional<Bytes> bytes_of(const Reader& file, const AuxPiece& piece, std::uint64_t skip,
                              std::uint64_t size) {
  if (size > kLargestRing) return std::nullopt;
  Bytes bytes(static_cast<std::size_t>(size));
  if (!file.read(piece.file_offset + skip, bytes)) return std::nullopt;
  return bytes;
}

std::optional<Bytes> bytes_of(const Reader& file, const AuxPiece& piece) {
  return bytes_of(file, piece, 0, piece.size);
}

// perf record pads each AUXTRACE payload with zeros to a multiple of 8, and Writer puts a null
// record behind BTS ones; the next piece's offset tells them from data.
bool ends_with_padding(const Reader& file, const AuxPiece& piece, std::uint64_t size, bool bts) {
  constexpr std::uint64_t kWord = 8, kNullRecord = 24;
  const std::uint64_t most = bts ? kNullRecord : kWord - 1;
  if (size > most || size > piece.size) return false;
  const auto tail = bytes_of(file, piece, piece.size - size, size);
  return tail && std::ranges::all_of(*tail, [](std::uint8_t byte) { return byte == 0; });
}

bool repeats(const Reader& file, const AuxPiece& before, const AuxPiece& piece,
             std::uint64_t size) {
  if (size > before.size || size > piece.size) return false;
  const auto tail = bytes_of(file, before, before.size - size, size);
  return tail && tail == bytes_of(file, piece, 0, size);
}

void drop_front(AuxPiece& piece, std::uint64_t size) {
  piece.file_offset += size;
  piece.aux_offset += size;
  piece.size -= size;
}

// Makes `piece` go on where `before` ends, or notes that it does not.
void follow(const Reader& file, AuxPiece& before, AuxPiece& piece, bool bts) {
  const std::uint64_t excess = before.aux_offset + before.size - piece.aux_offset;  // may wrap
  if (excess == 0) return;
  if (ends_with_padding(file, before, excess, bts)) {
    before.size -= excess;
  } else if (repeats(file, before, piece, excess)) {
    drop_front(piece, excess);
  } else {
    piece.gap_before = true;
  }
}

// Offsets of snapshots count within the ring: only the bytes tell what is new. (Those of hodo's own
// snapshots go on where they do; equal BTS records are no sign of an overlap then, since a loop
// makes many.)
void follow_snapshot(const Reader& file, AuxPiece& before, AuxPiece& piece, bool bts) {
  const std::uint64_t excess = before.aux_offset + before.size - piece.aux_offset;  // may wrap
  if (bts && ends_with_padding(file, before, excess, bts)) {
    before.size -= excess;
    return;
  }
  const auto earlier = bytes_of(file, before);
  const auto later = bytes_of(file, piece);
  const auto size = !earlier || !later ? std::nullopt
                    : bts              ? find_bts_overlap(*earlier, *later)
                                       : find_overlap(*earlier, *later);
  if (size) {
    drop_front(piece, *size);
  } else {
    piece.gap_before = true;
  }
}

}  // namespace

bool AuxLayout::has_room(std::uint64_t offset) {
  if (++kept_ <= kMaxKept) return true;
  if (kept_ == kMaxKept + 1) {
    damages_.add(offset, "too many pieces of AUX data: the rest of the trace is left out");
  }
  return false;
}

AuxSums AuxLayout::sums_of(const Record& record, const Auxtrace& piece) {
  if (piece.sum_block == 0) return {};
  if (piece.sum_block > BlockSums::kLargest) {
    damages_.add(record.raw.offset, "sums of trace data that are of too many bytes each");
    return {};
  }
  const std::uint64_t room = piece.data_offset - piece.sums_offset;
  if (room / sizeof(std::uint32_t) < blocks_of(piece.size, piece.sum_block)) {
    damages_.add(record.raw.offset, "the sums of trace data do not fit it");
    return {};
  }
  return {.offset = piece.sums_offset,
          .block = piece.sum_block,
          .data_offset = piece.data_offset,
          .data_size = piece.data_size,
          .written_size = piece.size};
}

void AuxLayout::add(const Record& record, const Auxtrace& piece) {
  const auto [it, added] = queues_.try_emplace(piece.idx);
  AuxQueue& queue = it->second;
  if (added) {
    queue.idx = piece.idx;
    queue.tid = piece.tid;
    queue.cpu = piece.cpu;
  } else if (queue.tid != piece.tid || queue.cpu != piece.cpu) {
    damages_.add(record.raw.offset, "AUX buffer " + std::to_string(piece.idx) +
                                        " belongs to two threads or processors");
  }
  if (piece.data_size == 0 || !has_room(record.raw.offset)) return;
  queue.pieces.push_back({.file_offset = piece.data_offset,
                          .size = piece.data_size,
                          .aux_offset = piece.offset,
                          .reference = piece.reference,
                          .gap_before = false,
                          .sums = sums_of(record, piece)});
}

void AuxLayout::add(const Record& record, const Aux& aux) {
  const SampleId& id = record.id;
  const std::uint64_t end = aux.offset + std::min(aux.size, ~aux.offset);
  auto& by_tid = end_by_tid_[id.tid];
  by_tid = std::max(by_tid, end);
  auto& by_cpu = end_by_cpu_[id.cpu];
  by_cpu = std::max(by_cpu, end);
  const bool wanted = aux.flags != 0 || (keep_handovers_ && aux.size != 0);
  if (!wanted || !has_room(record.raw.offset)) return;
  const AuxEvent event{.time = id.time.value_or(0),
                       .aux_offset = aux.offset,
                       .aux_size = aux.size,
                       .flags = aux.flags,
                       .pid = id.pid,
                       .tid = id.tid};
  announced_.push_back({record.raw.offset, id.tid, id.cpu, event});
}

void AuxLayout::join(AuxQueue& queue, const Reader& file, bool snapshot) {
  auto& pieces = queue.pieces;
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    if (!snapshot) follow(file, pieces[i - 1], pieces[i], keep_handovers_);
  }
  if (snapshot) {
    auto whole = pieces;
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      const std::uint64_t size = whole[i - 1].size;
      follow_snapshot(file, whole[i - 1], pieces[i], keep_handovers_);
      pieces[i - 1].size -= size - whole[i - 1].size;
    }
  }
  // A gap before a piece that has become empty is one before the next.
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    pieces[i].gap_before |= pieces[i - 1].size == 0 && pieces[i - 1].gap_before;
  }
  std::erase_if(pieces, [](const AuxPiece& piece) { return piece.size == 0; });
  for (const auto& piece : pieces) queue.bytes += piece.size;
}

void AuxLayout::take(AuxQueue& queue, const AuxEvent& event) const {
  if (event.flags != 0) queue.flagged.push_back(event);
  if (keep_handovers_ && event.aux_size != 0) queue.handovers.push_back(event);
}

void AuxLayout::assign(std::vector<AuxQueue>& queues) {
  std::map<std::int32_t, AuxQueue*> by_tid, by_cpu;
  for (auto& queue : queues) {
    if (queue.cpu == -1) {
      by_tid.emplace(queue.tid, &queue);
      queue.announced = end_by_tid_[queue.tid];
    } else {
      by_cpu.emplace(queue.cpu, &queue);
      queue.announced = end_by_cpu_[queue.cpu];
    }
  }
  for (const auto& one : announced_) {
    auto* queue = by_tid.contains(one.tid)   ? by_tid[one.tid]
                  : by_cpu.contains(one.cpu) ? by_cpu[one.cpu]
                                             : nullptr;
    if (queue != nullptr) {
      take(*queue, one.event);
    } else {
      damages_.add(one.offset, "trace of thread " + std::to_string(one.tid) +
                                   " was lost: the file has no buffer of it");
    }
  }
  const auto by_time = [](const AuxEvent& a, const AuxEvent& b) { return a.time < b.time; };
  for (auto& queue : queues) {
    std::ranges::stable_sort(queue.flagged, by_time);
    std::ranges::stable_sort(queue.handovers, {}, &AuxEvent::aux_offset);
  }
}

std::vector<AuxQueue> AuxLayout::finish(const Reader& file, bool snapshot) {
  std::vector<AuxQueue> out;
  for (auto& [idx, queue] : queues_) {
    join(queue, file, snapshot);
    out.push_back(std::move(queue));
  }
  queues_.clear();
  assign(out);
  return out;
}

}  // namespace hodo::perfdata
