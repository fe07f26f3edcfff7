// Branch lists in the formats of `hodo branches`.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

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

class BranchWriter;

// A sink that writes every branch to `out`.
class BranchList final : public session::BranchSink {
 public:
  // `out` and `names` (text only, else may be null) must outlive it.
  BranchList(const BranchListOptions& options, Output& out, const session::Names* names);
  ~BranchList() override;

  // Writes what stands before the first branch: the CSV header, the bin header.
  void begin();
  bool branches(const session::Context& context, std::span<const Branch> batch) override;
  bool writes() const override { return true; }
  std::unique_ptr<flow::BranchWriter> writer(const session::Context& context) const override;
  bool written(std::string_view text) override;

 private:
  std::unique_ptr<BranchWriter> make_writer() const;

  const BranchListOptions options_;
  Output& out_;
  const session::Names* names_;
  mutable std::mutex asking_;  // names_, by writers
  const std::unique_ptr<BranchWriter> own_;
};

}  // namespace hodo::view
