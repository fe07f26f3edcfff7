// A perf.data file as a session: everything but the decoding of its trace, which those that derive
// from this do.
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
#include "hodo/session/session.h"
#include "names/recording_names.h"
#include "stream/queue_sink.h"
#include "stream/trace_reader.h"

namespace hodo::session {

// A file whose sideband has been read.
struct OpenedFile {
  std::string path;
  std::unique_ptr<perfdata::Reader> reader;
  perfdata::Model model;
  Files::Where where;

  static Result<OpenedFile> open(const std::string& path, Files::Where where = {});
};

class FileSession : public Session {
 public:
  const std::string& path() const final { return path_; }
  TraceKind trace() const final;
  const Facts* facts() const final { return &facts_; }
  Clock clock() const final { return Clock(model_.trace_clock()); }
  // One for each AUX buffer.
  std::span<const Queue> queues() const override { return queues_; }
  const Names& names() const final { return names_; }
  std::size_t read_code(std::uint32_t space, std::uint64_t address, std::uint64_t time,
                        std::span<std::uint8_t> out) final;
  isa::Mode mode(std::uint32_t space, std::uint64_t time) final;
  const Regions* regions() const final { return &regions_; }
  std::vector<LossLine> input_losses() const final;
  std::vector<KernelSymbol> kernel_symbols() const final;

  const perfdata::Model& model() const { return model_; }
  Spaces& spaces() { return spaces_; }
  // When mode() may be another one; kForever: never again.
  std::uint64_t next_mode(std::uint32_t space, std::uint64_t time);
  // The stretches of an AUX buffer, and their bytes, as the file has them. Errors: io, truncated.
  std::vector<Part> aux_parts(std::size_t queue) const;
  // The same without what is not as it was recorded; before it is read, and as it is read.
  Result<std::vector<Part>> unaltered_parts(std::size_t queue) const;
  std::unique_ptr<TraceReader> checked_trace(std::size_t queue, StreamRange range) const;
  Status read_aux(std::uint64_t offset, std::span<std::uint8_t> out) const;
  // What files have to do with it that code was missing.
  std::optional<Explanation> explain_missing(const Context& who, const flow::Loss& loss);

 protected:
  explicit FileSession(OpenedFile file);

 private:
  // The first one if the thread has none.
  std::uint32_t queue_of(std::int32_t tid) const;

  // What a space runs, by when it began to.
  using Modes = std::map<std::uint64_t, isa::Mode>;
  const Modes& modes(std::uint32_t space);

  std::string path_;
  std::unique_ptr<perfdata::Reader> reader_;
  perfdata::Model model_;
  Facts facts_;
  std::vector<Queue> queues_;
  Spaces spaces_;
  RecordingNames names_;
  RecordingRegions regions_;
  std::map<std::uint32_t, Modes> modes_;  // by space
};

}  // namespace hodo::session
