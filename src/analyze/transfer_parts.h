// A batch of transfers, part by part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hodo/flow/transfers.h"

namespace hodo::analyze {

// In order: on_branch() for those that are in no transfer, on_row() for transfers of one time.
template <class OnBranch, class OnRow>
void each_part(const flow::Transfers& batch, OnBranch on_branch, OnRow on_row) {
  std::size_t walked = 0;
  std::size_t told = 0;
  for (const flow::Transfers::Row& row : batch.rows) {
    while (walked < row.begin) on_branch(batch.walked[walked++]);
    on_row(batch.list.subspan(told, row.count), row.time);
    told += row.count;
  }
  while (walked < batch.walked.size()) on_branch(batch.walked[walked++]);
}

}  // namespace hodo::analyze
