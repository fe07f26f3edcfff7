// Branch lists in the formats of `hodo branches`.
#pragma once

#include <cstdint>
#include <memory>

#include "hodo/session/clock.h"
#include "hodo/session/names.h"
#include "hodo/session/sink.h"
#include "hodo/view/output.h"
#include "hodo/view/place.h"
#include "hodo/view/style.h"

namespace hodo::view {

enum class BranchFormat : std::uint8_t { text, csv, jsonl, bin };

struct BranchListOptions {
  BranchFormat format = BranchFormat::text;
  bool not_taken = false;  // conditional branches that fall through get a line, too
  // Only branches within [from, until], in the unit of the `time` column.
  std::uint64_t from_time = 0;
  std::uint64_t until_time = ~std::uint64_t{0};
  session::Clock clock;
  Style style;          // text only
  SourceDetail source;  // text only
};

// One record of the bin format, little-endian, after the file header "HODOBR01" (8 bytes) and the
// record size (8 bytes). docs/formats/branches-bin.md describes it.
struct BinBranch {
  std::uint64_t time = 0;  // nanoseconds, or trace clock units without a conversion; 0: unknown
  std::uint64_t from = 0;  // 0: absent
  std::uint64_t to = 0;
  std::uint64_t cr3 = ~std::uint64_t{0};  // all ones: unknown
  std::int32_t cpu = -1;                  // -1: unknown
  std::int32_t pid = -1;
  std::int32_t tid = -1;
  std::uint8_t kind = 0;     // the BranchKind's number
  std::uint8_t flags = 0;    // BranchFlags
  std::uint16_t cycles = 0;  // LBR: since the branch before; 0: unknown
};
static_assert(sizeof(BinBranch) == 48);

// A sink that writes every branch to `out`. Both `out` and `names` (text only, else may be null)
// must outlive it. begin() writes what stands before the first branch: the CSV header, the bin
// header.
class BranchList : public session::BranchSink {
 public:
  virtual void begin() = 0;
};

std::unique_ptr<BranchList> make_branch_list(const BranchListOptions& options, Output& out,
                                             const session::Names* names);

}  // namespace hodo::view
