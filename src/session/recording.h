// A perf.data file as a session.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "code/files.h"
#include "code/recording_regions.h"
#include "code/spaces.h"
#include "hodo/perfdata/model.h"
#include "names/recording_names.h"
#include "pt/decoding.h"

namespace hodo::session {

class Recording final : public DecodingSession {
 public:
  static Result<std::unique_ptr<Recording>> open(const std::string& path,
                                                 const std::string& symfs = {});

  const std::string& path() const override { return path_; }
  const perfdata::Model* recording() const override { return &model_; }
  Clock clock() const override { return Clock(model_.trace_clock()); }
  std::span<const Queue> queues() const override { return queues_; }
  const Names& names() const override { return names_; }
  std::size_t read_code(std::uint32_t space, std::uint64_t address, std::uint64_t time,
                        std::span<std::uint8_t> out) override;
  isa::Mode mode(std::uint32_t space, std::uint64_t time) override;
  // When that may be another one; kForever: never again.
  std::uint64_t next_mode(std::uint32_t space, std::uint64_t time);
  const Regions* regions() const override { return &regions_; }
  std::vector<LossLine> input_losses() const override;

  // For those who read another kind of trace from the same file, or one that grows.
  const perfdata::Model& model() const { return model_; }
  Spaces& spaces() { return spaces_; }
  std::vector<Part> parts(std::size_t queue) override;
  Status read_trace(std::uint64_t offset, std::span<std::uint8_t> out) override;
  std::optional<Explanation> explain(const Context& who, const flow::Loss& loss) override;
  Status decodable() const override;
  bool snapshot() const override { return model_.pt().snapshot; }
  Occupancy occupancy(std::size_t queue) override;
  std::unique_ptr<image::CodeSource> code(std::size_t queue, const Occupancy& occupancy) override;
  flow::Config config(std::size_t queue, const Occupancy& occupancy) override;

 private:
  Recording(std::string path, std::unique_ptr<perfdata::Reader> reader, perfdata::Model model,
            std::string symfs);

  // The first one if the thread has none.
  std::uint32_t queue_of(std::int32_t tid) const;

  // What a space runs, by when it began to.
  using Modes = std::map<std::uint64_t, isa::Mode>;
  const Modes& modes(std::uint32_t space);

  std::string path_;
  std::unique_ptr<perfdata::Reader> reader_;
  perfdata::Model model_;
  std::vector<Queue> queues_;
  Spaces spaces_;
  RecordingNames names_;
  RecordingRegions regions_;
  std::map<std::uint32_t, Modes> modes_;  // by space
};

}  // namespace hodo::session
