#include "recording_regions.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "facts/ticks.h"

namespace hodo::session {
namespace {

// One that the kernel itself maps: [vdso], [vsyscall].
bool is_kernels_page(std::string_view path) {
  return path.starts_with('[') && path != "[stack]" && path != "[heap]";
}

}  // namespace

std::string_view RecordingRegions::location(std::uint32_t file) const {
  Files& files = spaces_.files();
  if (files.state(file) == Files::State::untried) files.slice(file, 0, 0);  // looks for it
  return files.location(file);
}

std::uint32_t RecordingRegions::id(std::uint32_t space, std::uint64_t address,
                                   const perfdata::Mapping& mapping) const {
  const bool user = address >> 63 == 0;
  const auto& all = user ? recording_.processes()[space].mappings : recording_.kernel_mappings();
  return static_cast<std::uint32_t>(&mapping - all.data());
}

Regions::Id RecordingRegions::id(std::uint32_t space, std::uint64_t address,
                                 std::uint64_t time) const {
  const Space* where = spaces_.of(space, address);
  if (where == nullptr) return {};
  const auto [mapping, around] = where->mapping_around(address, time);
  const bool known = mapping != nullptr;
  return {.id = known ? id(space, address, *mapping) : kNoRegion, .until = around.valid_until};
}

std::optional<Region> RecordingRegions::region(std::uint32_t space, std::uint64_t address,
                                               std::uint64_t time) const {
  const Space* where = spaces_.of(space, address);
  const perfdata::Mapping* m = where == nullptr ? nullptr : where->mapping(address, time);
  if (m == nullptr) return std::nullopt;
  Region out;
  const bool user = address >> 63 == 0;
  out.id = id(space, address, *m);
  out.kept = m->kept != perfdata::kNone;
  if (user) m = spaces_.called_by(space, *m, address);
  if (m == nullptr || !spaces_.is_of_file(*m)) {
    out.generated = where->jit_function(address, time).has_value();
  }
  if (m == nullptr || m->file == perfdata::kNone) return out;
  const std::string& path = recording_.files()[m->file].path;
  if (!spaces_.is_of_file(*m)) {
    (is_kernels_page(path) ? out.path : out.area) = path;
    out.grant = grant(*m);
    return out;
  }
  if (user) out.writing = spaces_.writing(space, *m, address);
  out.path = path;
  out.location = location(m->file);
  out.file_offset = address - m->address + m->file_offset;
  return out;
}

std::optional<Grant> RecordingRegions::grant(const perfdata::Mapping& mapping) const {
  if (mapping.granted_to == -1) return std::nullopt;
  return Grant{mapping.granted_to, ticks(recording_.trace_clock(), mapping.granted_at)};
}

const std::vector<RecordingRegions::Presence>& RecordingRegions::presences(
    std::uint32_t space) const {
  auto& found = presences_[space];
  if (found) return *found;
  std::vector<Presence> each;
  const auto& all = recording_.processes()[space].mappings;
  const perfdata::TimeConversion& conversion = recording_.trace_clock();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const perfdata::Mapping& m = all[i];
    if (!m.executable || !spaces_.is_of_file(m)) continue;
    const bool stays = m.until == perfdata::kForever;
    each.push_back({.file = m.file,
                    .first = i,
                    .since = ticks(conversion, m.from),
                    .until = stays ? kNever : ticks(conversion, m.until)});
  }
  std::ranges::sort(each, {},
                    [](const Presence& p) { return std::tuple(p.file, p.since, p.first); });
  found.emplace();
  for (const Presence& next : each) {
    Presence* const last = found->empty() ? nullptr : &found->back();
    if (last == nullptr || last->file != next.file || last->until < next.since) {
      found->push_back(next);
      continue;
    }
    last->first = std::min(last->first, next.first);
    last->until = std::max(last->until, next.until);
  }
  std::ranges::sort(*found, {}, &Presence::first);
  return *found;
}

RecordingRegions::Present RecordingRegions::present(std::uint32_t space, std::uint64_t time) const {
  Present out{.space = space, .since = 0, .until = kNever, .files = {}};
  std::set<std::string_view> known;
  for (const Presence& p : presences(space)) {
    for (const std::uint64_t change : {p.since, p.until}) {
      if (change <= time) out.since = std::max(out.since, change);
      if (change > time) out.until = std::min(out.until, change);
    }
    if (p.since > time || (p.until != kNever && p.until <= time)) continue;
    const std::string_view path = recording_.files()[p.file].path;
    if (known.insert(path).second) out.files.push_back({path, location(p.file), p.since});
  }
  return out;
}

std::vector<MappedFile> RecordingRegions::files(std::uint32_t space, std::uint64_t time) const {
  if (space >= recording_.processes().size()) return {};
  if (space != last_.space || time < last_.since || time >= last_.until) {
    last_ = present(space, time);
  }
  return last_.files;
}

std::uint64_t RecordingRegions::next_thread(std::uint32_t space, std::uint64_t time) const {
  std::uint64_t next = kNever;
  if (space >= recording_.processes().size()) return next;
  const perfdata::Process& process = recording_.processes()[space];
  for (const std::uint32_t index : process.threads) {
    const perfdata::Thread& thread = recording_.threads()[index];
    const std::uint64_t start = ticks(recording_.trace_clock(), thread.start);
    if (thread.tid != process.pid && start > time) next = std::min(next, start);
  }
  return next;
}

std::vector<Fork> RecordingRegions::forks() const {
  std::vector<Fork> out;
  const auto& all = recording_.processes();
  for (std::uint32_t child = 0; child < all.size(); ++child) {
    const perfdata::Process& process = all[child];
    const perfdata::Process* parent = recording_.process_at(process.ppid, process.start);
    if (process.start == 0 || parent == nullptr || parent == &process) continue;
    const Fork fork{.parent = static_cast<std::uint32_t>(parent - all.data()),
                    .child = child,
                    .time = ticks(recording_.trace_clock(), process.start)};
    if (fork.time < next_thread(fork.parent, 0)) out.push_back(fork);
  }
  return out;
}

std::vector<Grant> RecordingRegions::grants() const {
  std::set<Grant> out;  // children have those of their parents, too
  for (const perfdata::Process& process : recording_.processes()) {
    for (const perfdata::Mapping& mapping : process.mappings) {
      if (const auto found = grant(mapping)) out.insert(*found);
    }
  }
  return {out.begin(), out.end()};
}

}  // namespace hodo::session
