#include "space.h"

#include <algorithm>

#include "facts/ticks.h"

namespace hodo::session {
namespace {

// In image::Timeline: nothing is mapped any more. kNothing says that nothing has been yet.
constexpr image::Timeline::Value kUnmapped = image::Timeline::kNothing - 1;
// How many later mappings of an address are looked at before giving up.
constexpr int kLaterMappings = 4;

std::uint32_t count_until(const std::vector<std::uint64_t>& times, std::uint64_t time) {
  return static_cast<std::uint32_t>(std::ranges::upper_bound(times, time) - times.begin());
}

}  // namespace

Space::Space(const std::vector<perfdata::Mapping>& mappings, const perfdata::Model& recording,
             Files& files, image::ContentStore& kept, std::unique_ptr<const JitCode> jit)
    : mappings_(mappings),
      recording_(recording),
      jit_(std::move(jit)),
      replaced_(replacements(mappings, recording.files(), recording.trace_clock())) {
  const perfdata::TimeConversion conversion = recording.trace_clock();
  std::vector<Change> changes;
  for (std::uint32_t i = 0; i < mappings.size(); ++i) {
    const perfdata::Mapping& m = mappings[i];
    if (!m.executable || m.size == 0) continue;
    changes.push_back({ticks(conversion, m.from), i, false});
    // Without a common clock nothing ever ends: code that may have gone is better than none.
    if (m.until != perfdata::kForever && conversion.valid) {
      changes.push_back({ticks(conversion, m.until), i, true});
    }
  }
  // At one moment the old goes before the new comes.
  std::ranges::stable_sort(changes, [](const Change& a, const Change& b) {
    return a.time != b.time ? a.time < b.time : a.ends > b.ends;
  });
  for (const Change& change : changes) apply(change, recording, files, kept);
  if (jit_ == nullptr || jit_->changes().empty()) return;
  for (auto* const times : {&changes_, &replaced_.names}) {
    times->insert(times->end(), jit_->changes().begin(), jit_->changes().end());
    std::ranges::sort(*times);
  }
}

void Space::apply(const Change& change, const perfdata::Model& recording, Files& files,
                  image::ContentStore& kept) {
  const perfdata::Mapping& m = mappings_[change.mapping];
  changes_.push_back(change.time);
  timeline_.cover(m.address, last_address(m), change.time,
                  change.ends ? kUnmapped : change.mapping);
  if (change.ends) {
    code_.unmap(m.address, m.size, change.time);
    return;
  }
  image::Slice slice;
  if (m.kept != perfdata::kNone && m.kept < recording.kept().size()) {
    auto bytes = recording.kept()[m.kept].bytes;
    std::size_t skip = std::min<std::size_t>(m.kept_offset, bytes.size());
    std::size_t size = std::min<std::uint64_t>(m.size, bytes.size() - skip);
    if (auto copy = kept.memory(bytes.subspan(skip, size))) slice = *copy;
  } else if (m.file != perfdata::kNone) {
    slice = files.slice(m.file, m.file_offset, m.size);
  }
  code_.map(m.address, m.size, std::move(slice), change.time);
}

image::CodeSpan Space::find(std::uint64_t address, std::uint64_t time) const {
  image::CodeSpan first = code_.find(address, time);
  if (first.content != 0) return first;
  if (jit_ != nullptr) {
    if (image::CodeSpan made = find_jit(address, time, first); made.content != 0) return made;
  }
  // Mapped, but without bytes: the file is missing, and what comes later is something else.
  // Of memory without a file the bytes come when they run, in any of the threads.
  const image::Timeline::Value here = timeline_.find(address, time).value;
  if (here < kUnmapped && has_file(mappings_[here])) return first;
  image::CodeSpan span = first;
  for (int i = 0; i < kLaterMappings && span.content == 0; ++i) {
    if (span.valid_until == perfdata::kForever) return first;
    span = code_.find(address, span.valid_until);
  }
  if (span.content == 0) return first;
  span.valid_from = first.valid_from;
  return span;
}

bool Space::has_file(const perfdata::Mapping& mapping) const {
  return mapping.kept != perfdata::kNone ||
         (mapping.file != perfdata::kNone &&
          names_a_file(recording_.files()[mapping.file].path, mapping.shared));
}

// What the runtime said to be there, as far as nothing else is: bytes that the recording has count
// before it.
image::CodeSpan Space::find_jit(std::uint64_t address, std::uint64_t time,
                                const image::CodeSpan& nothing) const {
  image::CodeSpan span = jit_->find(address, time);
  if (span.content == 0) return span;
  image::Timeline::Answer hole = timeline_.find(address, time);
  std::uint64_t first = std::max(span.address, hole.first);
  std::uint64_t last = std::min(span.address + (span.bytes.size() - 1), hole.last);
  span.bytes = span.bytes.subspan(static_cast<std::size_t>(first - span.address),
                                  static_cast<std::size_t>(last - first) + 1);
  span.offset += first - span.address;
  span.address = first;
  span.valid_from = std::max(span.valid_from, nothing.valid_from);
  span.valid_until = std::min(span.valid_until, nothing.valid_until);
  return span;
}

Space::Around Space::mapping_around(std::uint64_t address, std::uint64_t time) const {
  image::Timeline::Answer around = timeline_.find(address, time);
  image::Timeline::Answer next = around;
  for (int i = 0; i < kLaterMappings && next.value >= kUnmapped; ++i) {
    if (next.valid_until == image::Timeline::kEnd) break;
    next = timeline_.find(address, next.valid_until);
    around.first = std::max(around.first, next.first);
    around.last = std::min(around.last, next.last);
  }
  return {next.value < kUnmapped ? &mappings_[next.value] : nullptr, around};
}

const perfdata::Mapping* Space::mapping(std::uint64_t address, std::uint64_t time) const {
  return mapping_around(address, time).mapping;
}

Era Space::era(std::uint64_t time) const {
  const std::vector<std::uint64_t>& times = replaced_.files;
  const auto next = std::ranges::upper_bound(times, time);
  Era era{.number = count_until(times, time)};
  if (next != times.begin()) era.from = *std::prev(next);
  if (next != times.end()) era.until = *next;
  return era;
}

std::uint32_t Space::generation(std::uint64_t time) const { return count_until(changes_, time); }

std::uint32_t Space::naming(std::uint64_t time) const { return count_until(replaced_.names, time); }

}  // namespace hodo::session
