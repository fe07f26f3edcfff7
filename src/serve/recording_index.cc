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

std::shared_ptr<ask::CallStore> calls_beside(std::optional<KeptPlace> place, std::uint64_t trace,
                                             std::size_t index) {
  const std::uint64_t room = trace / kShare + kAlways;
  if (!place || index > room) return nullptr;
  return std::make_shared<KeptCalls>(std::move(*place).beside("calls"),
                                     static_cast<std::size_t>(room - index));
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
  auto place = kept_place(session, "index " + std::to_string(spacing));
  if (place) {
    if (const auto kept = place->load()) {
      if (auto index = ask::Index::read(*kept, session.queues().size())) {
        return std::make_unique<ask::IndexedRecording>(
            parts, std::move(*index), calls_beside(std::move(place), bytes, kept->size()));
      }
    }
  }
  auto index = ask::Index::build(session, *parts, spacing, progress);
  if (!index) return nullptr;
  const std::vector<std::uint8_t> written = index->write();
  if (place) place->store(written);
  return std::make_unique<ask::IndexedRecording>(
      parts, std::move(*index), calls_beside(std::move(place), bytes, written.size()));
}

}  // namespace hodo::serve
