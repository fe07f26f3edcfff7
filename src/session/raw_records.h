// BTS records or a dump of LBR registers, with memory images, as a session.
#pragma once

#include <memory>
#include <vector>

#include "hodo/hw/bts.h"
#include "hodo/hw/lbr.h"
#include "hodo/session/session.h"
#include "raw_input.h"

namespace hodo::session {

class RecordPath;

class RawRecords final : public Session {
 public:
  // Errors: as RawTrace::open, detect_layout, parse_lbr_dump and newest_first.
  static Result<std::unique_ptr<Session>> open(const Options& options);

  const std::string& path() const override { return trace_.path(); }
  const perfdata::Session* recording() const override { return nullptr; }
  Clock clock() const override { return Clock(); }
  std::span<const Queue> queues() const override { return {&queue_, 1}; }
  const Names& names() const override { return trace_.names(); }
  std::size_t read_code(std::uint32_t, std::uint64_t address, std::uint64_t time,
                        std::span<std::uint8_t> out) override {
    return image::read_code(trace_.code(), address, time, out);
  }
  isa::Mode mode(std::uint32_t) override { return mode_; }
  std::vector<LossLine> input_losses() const override { return {}; }

  Result<Outcome> decode(const DecodeOptions& options, BranchSink& sink) override;
  // unsupported: there are no packets.
  Result<Outcome> packets(const DecodeOptions& options, PacketSink& sink) override;

 private:
  explicit RawRecords(RawTrace trace) : trace_(std::move(trace)) {}
  Status read_bts(unsigned record_size);
  Status read_lbr();
  void add_bts(RecordPath& path, const DecodeOptions& options, flow::Stats& stats,
               LossTally& losses) const;
  void add_lbr(RecordPath& path, flow::Stats& stats) const;

  RawTrace trace_;
  Queue queue_;
  isa::Mode mode_ = isa::Mode::bits64;
  RawKind kind_ = RawKind::bts;
  hw::DsLayout layout_ = hw::DsLayout::bits64;     // bts
  std::vector<std::vector<hw::LbrEntry>> stacks_;  // lbr; each newest first
};

}  // namespace hodo::session
