// Trace buffers from AUXTRACE and AUX records: which bytes of the file make up each buffer's
// stream.
#pragma once

#include <map>
#include <vector>

#include "damage_log.h"
#include "hodo/perfdata/model.h"

namespace hodo::perfdata {

class AuxLayout {
 public:
  // Pieces and flagged AUX records together, against hostile files.
  static constexpr std::size_t kMaxKept = std::size_t{1} << 24;

  explicit AuxLayout(DamageLog& damages) : damages_(damages) {}

  // Keep every AUX record from here on, not only those with flags (AuxQueue::handovers).
  void keep_handovers() { keep_handovers_ = true; }

  void add(const Record& record, const Auxtrace& piece);
  void add(const Record& record, const Aux& aux);

  // By idx. `file` is where the records came from.
  std::vector<AuxQueue> finish(const Reader& file, bool snapshot);

 private:
  struct Announced {
    std::uint64_t offset = 0;
    std::int32_t tid = -1, cpu = -1;
    AuxEvent event;
  };
  bool has_room(std::uint64_t offset);
  AuxSums sums_of(const Record& record, const Auxtrace& piece);
  void join(AuxQueue& queue, const Reader& file, bool snapshot);
  void take(AuxQueue& queue, const AuxEvent& event) const;
  void assign(std::vector<AuxQueue>& queues);

  DamageLog& damages_;
  std::size_t kept_ = 0;
  std::map<std::uint32_t, AuxQueue> queues_;
  bool keep_handovers_ = false;
  std::vector<Announced> announced_;  // only those with flags, or all with keep_handovers_
  std::map<std::int32_t, std::uint64_t> end_by_tid_, end_by_cpu_;
};

}  // namespace hodo::perfdata
