// BTS records or a dump of LBR registers, with memory images, as a session.
#pragma once

#include <memory>
#include <vector>

#include "hodo/hw/bts.h"
#include "hodo/hw/lbr.h"
#include "hodo/session/session.h"
#include "raw_session.h"

namespace hodo::session {

class BtsRecords;
class RecordPath;

class RawRecords final : public RawSession {
 public:
  // Errors: as RawTrace::open, detect_layout, parse_lbr_dump and newest_first.
  static Result<std::unique_ptr<Session>> open(const Options& options);

  TraceKind trace() const override {
    return kind_ == RawKind::bts ? TraceKind::bts : TraceKind::stacks;
  }
  isa::Mode mode(std::uint32_t, std::uint64_t) override { return mode_; }

  Result<Outcome> decode(const DecodeOptions& options, BranchSink& sink) override;
  // unsupported: there are no packets.
  Result<Outcome> packets(const DecodeOptions& options, PacketSink& sink) override;

 private:
  explicit RawRecords(RawTrace trace) : RawSession(std::move(trace)) {}
  Status read_bts(const RawInput& input);
  Status begin_at(std::uint64_t index);
  Result<std::vector<std::uint8_t>> first_bytes(std::uint64_t most) const;
  Status read_lbr();
  // Errors: as RawTrace::read.
  Status add_bts(RecordPath& path, const DecodeOptions& options, flow::Stats& stats,
                 LossTally& losses) const;
  Status add_part(BtsRecords& records, std::uint64_t from, std::uint64_t to, RecordPath& path,
                  const DecodeOptions& options, flow::Stats& stats) const;
  void add_lbr(RecordPath& path, flow::Stats& stats) const;

  isa::Mode mode_ = isa::Mode::bits64;
  RawKind kind_ = RawKind::bts;
  hw::DsLayout layout_ = hw::DsLayout::bits64;     // bts
  std::uint64_t oldest_ = 0;                       // bts: offset of the record to begin with
  std::uint64_t end_ = ~std::uint64_t{0};          // bts: of what was written
  std::vector<std::vector<hw::LbrEntry>> stacks_;  // lbr; each newest first
};

}  // namespace hodo::session
