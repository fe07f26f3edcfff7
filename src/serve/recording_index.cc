#include "hodo/serve/recording_index.h"

#include <algorithm>
#include <string>

#include "kept.h"

namespace hodo::serve {

namespace {

// Of the trace, what the index and the rows of calls may take together; and this.
constexpr std::uint64_t kShare = 10;
constexpr std::uint64_t kAlways = std::uint64_t{1} << 20;
// So many are decoded in a tenth of a second.
constexpr std::size_t kLeastSegments = 64;

class KeptCalls final : public ask::CallStore {
 public:
  KeptCalls(KeptPlace place, std::size_t room) : place_(std::move(place)), room_(room) {}
  std::optional<std::vector<std::uint8_t>> load() override { return place_.load(); }
  void store(std::span<const std::uint8_t> bytes) override { place_.store(bytes); }
  std::size_t room() const override { return room_; }
  std::size_t least_segments() const override { return kLeastSegments; }

 private:
  KeptPlace place_;
  std::size_t room_;
};

std::shared_ptr<ask::CallStore> calls_beside(const KeptPlace& place, std::uint64_t trace,
                                             std::size_t index) {
  const std::uint64_t room = trace / kShare + kAlways;
  if (index > room) return nullptr;
  return std::make_shared<KeptCalls>(place.beside("calls"), static_cast<std::size_t>(room - index));
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
    if (const auto kept = place->load()) {
      auto index = ask::Index::read(*kept, session.queues().size(), ran_beside(*place));
      if (index) {
        const std::size_t size = kept->size() + index->size_of_ran();
        return std::make_unique<ask::IndexedRecording>(parts, std::move(*index),
                                                       calls_beside(*place, bytes, size));
      }
    }
  }
  auto index = ask::Index::build(session, *parts, spacing, progress);
  if (!index) return nullptr;
  auto out = std::make_unique<ask::IndexedRecording>(parts, std::move(*index));
  if (!place) return out;
  const ask::Index::Bytes written = out->index.write();
  place->beside("ran").store(written.ran);
  place->store(written.starts);
  out->calls = calls_beside(*place, bytes, written.starts.size() + written.ran.size());
  return out;
}

}  // namespace hodo::serve
