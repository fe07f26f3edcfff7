// The transfers of a batch (Transfers), and the row that is being written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hodo/flow/transfers.h"

namespace hodo::flow {

// What was left out since the last transfer or branch, up to the last branch of it.
struct LeftOut {
  std::uint64_t branches = 0;
  std::uint64_t insns = 0;
};

class TransferLog {
 public:
  // Of a batch: 24 KiB, which the sink finds in the nearest cache.
  static constexpr std::size_t kMost = 1 << 10;

  // Nothing may be written before; what was is forgotten.
  void open();
  // Where the next transfer goes, until somebody else writes.
  Transfer* pen() { return list_.data() + used_; }
  // Where they end that a batch has room for.
  const Transfer* limit() const { return list_.data() + kMost; }
  bool full() const { return used_ >= kMost; }
  // The pen is there now.
  void put(const Transfer* pen) { used_ = static_cast<std::size_t>(pen - list_.data()); }
  LeftOut& left_out() { return left_; }
  // The row ends, where so many branches that are in none came before it.
  void close(std::uint64_t time, std::size_t begin);
  bool empty() const { return rows_.empty(); }
  bool begun() const { return used_ != begun_ || left_.branches != 0; }
  void clear();

  std::span<const Transfers::Row> rows() const { return rows_; }
  std::span<const Transfer> list() const { return std::span(list_).first(used_); }

 private:
  std::vector<Transfer> list_;  // as long as there is room for; the first used_ count
  std::vector<Transfers::Row> rows_;
  std::size_t used_ = 0;
  std::size_t begun_ = 0;  // where the open row begins
  LeftOut left_;
};

}  // namespace hodo::flow
