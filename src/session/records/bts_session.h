// A perf.data file with BTS records (AUXTRACE type 2) as a session.
#pragma once

#include <utility>
#include <vector>

#include "record_session.h"

namespace hodo::session {

// The records of each AUX buffer are the branches of one queue. They have no time of their own: a
// branch has that of the AUX record that handed it over, by which it had happened.
class BtsSession final : public RecordSession {
 public:
  explicit BtsSession(OpenedFile file) : RecordSession(std::move(file)) {}

  Result<Outcome> decode(const DecodeOptions& options, BranchSink& sink) override;
  Result<std::vector<LossLine>> records(RecordSink& sink) const override;

 private:
  class QueueReader;
};

}  // namespace hodo::session
