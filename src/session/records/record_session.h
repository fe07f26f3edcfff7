// What recordings with BTS records and with branch stacks share: the file behind them, and whose
// code it was.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "hodo/session/session.h"
#include "record_path.h"
#include "recording.h"

namespace hodo::session {

class RecordSession : public Session {
 public:
  const std::string& path() const final { return file_->path(); }
  const perfdata::Model* recording() const final { return file_->recording(); }
  Clock clock() const final { return file_->clock(); }
  const Names& names() const final { return file_->names(); }
  const Regions* regions() const final { return file_->regions(); }
  std::size_t read_code(std::uint32_t space, std::uint64_t address, std::uint64_t time,
                        std::span<std::uint8_t> out) final {
    return file_->read_code(space, address, time, out);
  }
  isa::Mode mode(std::uint32_t space, std::uint64_t time) final { return file_->mode(space, time); }
  std::vector<LossLine> input_losses() const final { return file_->input_losses(); }
  // unsupported: there are no packets in such a file.
  Result<Outcome> packets(const DecodeOptions& options, PacketSink& sink) final;

 protected:
  explicit RecordSession(std::unique_ptr<Recording> file) : file_(std::move(file)) {}

  Recording& file() const { return *file_; }
  // A task's code at `time`, as RecordPath::enter wants it. Code sources live as long as this.
  Executing executing(std::uint32_t queue, std::int32_t pid, std::int32_t tid, std::int32_t cpu,
                      std::uint64_t time);
  ExplainFunction explain() const;
  // Everything that is known to be lost before a record is read.
  LossTally known_losses() const;
  // What the traced event left out on purpose.
  Unrecorded unrecorded(const perf_event_attr& attr) const;

 private:
  const image::CodeSource* code_of(std::uint32_t space);

  std::unique_ptr<Recording> file_;
  std::map<std::uint32_t, std::unique_ptr<image::CodeSource>> codes_;  // by space
};

}  // namespace hodo::session
