#include "hodo/serve/recording_index.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hodo/text/parts_file.h"
#include "kept.h"

namespace hodo::serve {

namespace {

// Of the trace, what the index and the rows of calls may take together; and this.
constexpr std::uint64_t kShare = 10;
constexpr std::uint64_t kAlways = std::uint64_t{1} << 20;
// So many are decoded in a tenth of a second.
constexpr std::size_t kLeastSegments = 64;

ask::CallStore::Part part_of(const text::FilePart& part) {
  return {.offset = part.offset, .packed = part.packed, .size = part.size};
}
text::FilePart part_of(const ask::CallStore::Part& part) {
  return {.offset = part.offset, .packed = part.packed, .size = part.size};
}

class RowsReader final : public ask::CallStore::File {
 public:
  explicit RowsReader(std::unique_ptr<text::PartsReader> file) : file_(std::move(file)) {}
  std::span<const std::uint8_t> head() const override { return file_->head(); }
  std::uint64_t bytes() const override { return file_->bytes(); }
  std::optional<std::vector<std::uint8_t>> part(const ask::CallStore::Part& part) const override {
    return file_->part(part_of(part));
  }

 private:
  std::unique_ptr<text::PartsReader> file_;
};

class RowsWriter final : public ask::CallStore::Writer {
 public:
  explicit RowsWriter(std::unique_ptr<text::PartsWriter> file) : file_(std::move(file)) {}
  std::optional<ask::CallStore::Part> add(std::span<const std::uint8_t> part) override {
    const auto where = file_->add(part);
    if (!where) return std::nullopt;
    return part_of(*where);
  }
  std::uint64_t bytes() const override { return file_->bytes(); }
  void finish(std::span<const std::uint8_t> head) override { (void)file_->finish(head); }

 private:
  std::unique_ptr<text::PartsWriter> file_;
};

// Rows of calls, beside an index.
class KeptCalls final : public ask::CallStore {
 public:
  KeptCalls(const KeptPlace& place, std::uint64_t room) : room_(room) {
    for (unsigned i = 0; i < kFiles; ++i) {
      places_.push_back(place.beside("calls " + std::to_string(i)));
    }
  }
  std::unique_ptr<const File> open(unsigned file) override {
    auto found = places_[file].open_parts();
    return found ? std::make_unique<RowsReader>(std::move(found)) : nullptr;
  }
  std::unique_ptr<Writer> write(unsigned file) override {
    return std::make_unique<RowsWriter>(places_[file].write_parts());
  }
  void forget(unsigned file) override { places_[file].forget(); }
  std::uint64_t room() const override { return room_; }
  std::size_t least_segments() const override { return kLeastSegments; }

 private:
  std::vector<KeptPlace> places_;
  std::uint64_t room_;
};

std::shared_ptr<ask::CallStore> calls_beside(const KeptPlace& place, std::uint64_t trace) {
  const std::uint64_t room = trace / kShare + kAlways;
  const std::uint64_t index = place.size() + place.beside("ran").size();
  if (index > room) return nullptr;
  return std::make_shared<KeptCalls>(place, room - index);
}

// What happens in segments, which lies in a file of its own; once that is gone or damaged the index
// is to be made anew.
ask::Index::RanBytes ran_beside(const KeptPlace& place) {
  return [place] {
    auto bytes = place.beside("ran").load();
    if (!bytes) place.store({});
    return bytes;
  };
}

}  // namespace

std::unique_ptr<ask::IndexedRecording> index_of(session::Session& session,
                                                const session::ProgressFunction& progress) {
  session::Parts* const parts = session::parts_of(session);
  if (parts == nullptr || !is_long(session)) return nullptr;
  std::uint64_t bytes = 0;
  for (const session::Queue& queue : session.queues()) bytes += queue.bytes;
  const std::size_t spacing =
      std::max(ask::Index::kSpacing, static_cast<std::size_t>(bytes / ask::Index::kMostSegments));
  const auto place = kept_place(session, "index " + std::to_string(spacing));
  if (place) {
    if (auto kept = place->load()) {
      auto index = ask::Index::read(std::move(*kept), session.queues().size(), ran_beside(*place));
      if (index) {
        return std::make_unique<ask::IndexedRecording>(parts, std::move(*index),
                                                       calls_beside(*place, bytes));
      }
    }
  }
  auto calls = place ? calls_beside(*place, bytes) : nullptr;
  auto index = ask::Index::build(session, *parts, spacing, progress, calls.get());
  if (!index) return nullptr;
  auto out = std::make_unique<ask::IndexedRecording>(parts, std::move(*index));
  if (!place) return out;
  const ask::Index::Bytes written = out->index.write();
  place->beside("ran").store(written.ran);
  place->store(written.starts);
  out->calls = calls_beside(*place, bytes);
  if (out->calls) {
    ask::keep_within_room(*out->calls);
  } else {
    calls->forget(ask::CallStore::kOfIndex);
  }
  return out;
}

}  // namespace hodo::serve
