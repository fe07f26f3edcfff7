// What recordings with BTS records and with branch stacks share: whose code a record is of.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "file/file_session.h"
#include "record_path.h"

namespace hodo::session {

class RecordSession : public FileSession {
 public:
  // unsupported: there are no packets in such a file.
  Result<Outcome> packets(const DecodeOptions& options, PacketSink& sink) final;

 protected:
  explicit RecordSession(OpenedFile file) : FileSession(std::move(file)) {}

  // A task's code at `time`, as RecordPath::enter wants it. Code sources live as long as this.
  Executing executing(std::uint32_t queue, std::int32_t pid, std::int32_t tid, std::int32_t cpu,
                      std::uint64_t time);
  ExplainFunction explain();
  // Everything that is known to be lost before a record is read.
  LossTally known_losses() const;
  // What the traced event left out on purpose.
  Unrecorded unrecorded(const perf_event_attr& attr) const;

 private:
  const image::CodeSource* code_of(std::uint32_t space);

  std::map<std::uint32_t, std::unique_ptr<image::CodeSource>> codes_;  // by space
};

}  // namespace hodo::session
