// A perf.data file of any bytes: opened, walked, and joined into a session. Besides not crashing:
// what is handed out lies inside the file, and mappings of one process never overlap in space and
// time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "hodo/perfdata/model.h"
#include "hodo/perfdata/reader.h"

namespace {

using namespace hodo::perfdata;

void require(bool holds) {
  if (!holds) std::abort();
}

bool inside(std::span<const std::uint8_t> part, std::span<const std::uint8_t> whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void walk(const Reader& reader, std::span<const std::uint8_t> file) {
  auto cursor = reader.records();
  std::uint64_t before = 0;
  while (const auto record = cursor.next()) {
    require(record->raw.offset >= before);
    before = record->raw.offset;
    if (!record->raw.decompressed) require(inside(record->raw.bytes, file));
    const std::uint64_t behind = record->raw.offset + record->raw.bytes.size();
    require(record->raw.decompressed || record->raw.trailing <= file.size() - behind);
  }
  require(cursor.damages().size() <= cursor.damage_count());
}

bool overlap(const Mapping& a, const Mapping& b) {
  const bool space = a.address <= b.address + (b.size - 1) && b.address <= a.address + (a.size - 1);
  return space && a.from < b.until && b.from < a.until;
}

void check(const std::vector<Mapping>& mappings, const Model& session) {
  constexpr std::size_t kPairs = 300;  // all pairs of the first ones
  for (std::size_t i = 0; i < mappings.size(); ++i) {
    const Mapping& m = mappings[i];
    require(m.size != 0 && m.from < m.until);
    require(m.file < session.files().size() || m.kept < session.kept().size());
    if (m.kept != kNone) {
      const auto kept = session.kept()[m.kept].bytes.size();
      require(m.kept_offset <= kept && m.size <= kept - m.kept_offset);
    }
    for (std::size_t j = 0; j < std::min(i, kPairs); ++j) require(!overlap(m, mappings[j]));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto reader = Reader::open_memory({data, size});
  if (!reader) return 0;
  walk(*reader, {data, size});
  const auto session = Model::load(*reader);
  require(session.has_value());
  for (const auto& queue : session->queues()) {
    for (const auto& piece : queue.pieces) {
      require(piece.file_offset <= size && piece.size <= size - piece.file_offset);
    }
  }
  for (const auto& process : session->processes()) {
    check(process.mappings, *session);
    for (const auto thread : process.threads) require(thread < session->threads().size());
    (void)session->process_at(process.pid, process.start);
  }
  check(session->kernel_mappings(), *session);
  return 0;
}
