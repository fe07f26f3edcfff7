#include "hodo/flow/transfers.h"

#include <atomic>

#include "transfer_log.h"

namespace hodo::flow {
namespace {

std::uint32_t next_book() {
  static std::atomic<std::uint32_t> number = 0;
  return ++number;
}

}  // namespace

TransferBook::TransferBook() : number_(next_book()) {}

std::uint32_t TransferBook::add(std::span<const Branch> row) {
  if (row.empty() || row.size() > kMost - size_) return 0;
  const std::uint32_t at = size_;
  for (const Branch& branch : row) {
    std::unique_ptr<Branch[]>& chunk = chunks_[size_ / kChunk];
    if (chunk == nullptr) chunk = std::make_unique<Branch[]>(kChunk);
    chunk[size_++ % kChunk] = branch;
  }
  chunks_[(size_ - 1) / kChunk][(size_ - 1) % kChunk].flags |= kLast;
  return at;
}

void TransferLog::open() {
  list_.resize(kMost + 1);
  left_ = {};
  clear();
}

void TransferLog::close(std::uint64_t time, std::size_t begin) {
  if (left_.branches != 0) {
    if (used_ == list_.size()) list_.resize(2 * used_);
    list_[used_++] = {.branches = static_cast<std::uint32_t>(left_.branches),
                      .insns = static_cast<std::uint32_t>(left_.insns)};
    left_ = {};
  }
  if (used_ == begun_) return;
  rows_.push_back({.time = time,
                   .begin = static_cast<std::uint32_t>(begin),
                   .count = static_cast<std::uint32_t>(used_ - begun_)});
  begun_ = used_;
}

void TransferLog::clear() {
  rows_.clear();
  used_ = begun_ = 0;
}

}  // namespace hodo::flow
