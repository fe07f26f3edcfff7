#include "hodo/serve/recording_index.h"

#include <algorithm>
#include <string>

#include "kept.h"

namespace hodo::serve {

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
      if (auto index = ask::Index::read(*kept, session.queues().size())) {
        return std::make_unique<ask::IndexedRecording>(parts, std::move(*index));
      }
    }
  }
  auto index = ask::Index::build(session, *parts, spacing, progress);
  if (!index) return nullptr;
  if (place) place->store(index->write());
  return std::make_unique<ask::IndexedRecording>(parts, std::move(*index));
}

}  // namespace hodo::serve
