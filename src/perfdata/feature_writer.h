// The header's feature sections, as tools/perf/util/header.c writes them (the write_* functions).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "byte_writer.h"
#include "hodo/perfdata/reader.h"

namespace hodo::perfdata {

// Where an AUXTRACE record lies: lets perf find all of them without reading the file.
struct AuxtraceIndexEntry {
  std::uint64_t offset = 0;
  std::uint64_t record_size = 0;  // without the AUX data
};

class FeatureWriter {
 public:
  void string(Feature feature, std::string_view text);
  void word(Feature feature, std::uint64_t value);
  void bytes(Feature feature, std::span<const std::uint8_t> bytes);
  void cpus(std::uint32_t available, std::uint32_t online);
  void cmdline(const std::vector<std::string>& words);
  void events(const std::vector<Attr>& attrs);
  void pmus(const std::map<std::uint32_t, std::string>& names);
  void sample_time(SampleTime time);
  void clock(const ClockData& clock);
  void build_ids(const std::map<std::string, BuildId>& ids);
  void auxtrace_index(const std::vector<AuxtraceIndexEntry>& index);

  const std::map<std::uint8_t, ByteWriter>& sections() const { return sections_; }
  // The table of sections and the sections, for a place at `file_offset`.
  ByteWriter image(std::uint64_t file_offset) const;
  // The header's mask of features.
  std::array<std::uint64_t, 4> mask() const;

 private:
  std::map<std::uint8_t, ByteWriter> sections_;
};

// Adds what the operating system says of this machine: names, versions, processors, memory.
void add_host_features(FeatureWriter& out);

}  // namespace hodo::perfdata
