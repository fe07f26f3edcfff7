#include "spaces.h"

#include <sys/mman.h>

#include <algorithm>

namespace hodo::session {

Spaces::Spaces(const perfdata::Model& recording, Files::Where where)
    : recording_(recording),
      files_(recording, std::move(where)),
      spaces_(recording.processes().size()) {
  const auto& all = recording.processes();
  for (const perfdata::Process& process : all) {
    const auto parent = recording.process_at(process.ppid, process.start);
    const bool known = process.start != 0 && parent != nullptr && parent < &process;
    parents_.push_back(known ? static_cast<std::uint32_t>(parent - all.data()) : perfdata::kNone);
    Mapped& mapped = mapped_.emplace_back();
    for (const perfdata::Mapping& m : process.mappings) {
      if (m.kept != perfdata::kNone || m.size == 0) continue;
      const auto number = static_cast<image::Timeline::Value>(mapped.list.size());
      mapped.last.cover(m.address, last_address(m), m.from, number);
      mapped.list.push_back(&m);
    }
  }
}

const Space* Spaces::user(std::uint32_t index) {
  if (index >= spaces_.size()) return nullptr;
  std::unique_ptr<Space>& space = spaces_[index];
  if (!space) {
    const perfdata::Process& process = recording_.processes()[index];
    auto jit = std::make_unique<JitCode>(process, recording_, files_, kept_);
    space = std::make_unique<Space>(process.mappings, recording_, files_, kept_, std::move(jit));
  }
  return space.get();
}

const Space& Spaces::kernel() {
  if (!kernel_) {
    kernel_ =
        std::make_unique<Space>(recording_.kernel_mappings(), recording_, files_, kept_, nullptr);
  }
  return *kernel_;
}

bool Spaces::is_of_file(const perfdata::Mapping& mapping) const {
  return mapping.file != perfdata::kNone &&
         names_a_file(recording_.files()[mapping.file].path, mapping.shared);
}

namespace {

// What a process had from its parent is still there at `time`, where code lies at `address` that
// was kept before the fork.
bool has_inherited_code(const perfdata::Model& recording, const perfdata::Process& process,
                        std::uint64_t address, std::uint64_t time) {
  const auto inherited =
      std::ranges::equal_range(process.mappings, process.start, {}, &perfdata::Mapping::from);
  const bool has = std::ranges::any_of(inherited, [&](const perfdata::Mapping& m) {
    return m.kept != perfdata::kNone && address - m.address < m.size;
  });
  return has && std::ranges::none_of(process.threads, [&](std::uint32_t thread) {
           return std::ranges::any_of(
               recording.threads()[thread].names,
               [&](const perfdata::Named& name) { return name.exec && name.from <= time; });
         });
}

}  // namespace

// Mappings are cut where a later one covers them, so what was there before lies in the list with an
// earlier time.
template <class Find>
const perfdata::Mapping* Spaces::last_mapped(std::uint32_t index, std::uint64_t address,
                                             std::uint64_t time, Find find) const {
  for (bool inherited = true; inherited;) {
    if (const auto* found = find(mapped_[index], time)) return found;
    // A fork hands on what kept code has left of a mapping; what it covers lies with the parent.
    const perfdata::Process& process = recording_.processes()[index];
    inherited = parents_[index] != perfdata::kNone &&
                (time <= process.start || has_inherited_code(recording_, process, address, time));
    time = process.start;
    index = parents_[index];
  }
  return nullptr;
}

const perfdata::Mapping* Spaces::beneath(std::uint32_t index, const perfdata::Mapping& mapping,
                                         std::uint64_t address) const {
  if (index >= mapped_.size()) return nullptr;
  const auto find = [address](const Mapped& mapped, std::uint64_t time) {
    const image::Timeline::Value last = mapped.last.find(address, time).value;
    return last < mapped.list.size() ? mapped.list[last] : nullptr;
  };
  const auto* found = last_mapped(index, address, mapping.from, find);
  return found != nullptr && found->executable ? found : nullptr;
}

namespace {

std::uint64_t base_of(const perfdata::Mapping& mapping) {
  return mapping.address - mapping.file_offset;
}

}  // namespace

// What was kept of a file that is out of reach is as old as its mapping, which was never there
// then; what was before may lie beneath.
const perfdata::Mapping* Spaces::called_by(std::uint32_t index, const perfdata::Mapping& mapping,
                                           std::uint64_t address) const {
  if (mapping.kept == perfdata::kNone) return &mapping;
  const perfdata::Mapping* const found = beneath(index, mapping, address);
  if (!is_of_file(mapping)) return found;
  const bool same =
      found != nullptr && found->file == mapping.file && base_of(*found) == base_of(mapping);
  return same ? found : &mapping;
}

Region::Writing Spaces::writing(std::uint32_t index, const perfdata::Mapping& mapping,
                                std::uint64_t address) const {
  if ((mapping.prot & PROT_WRITE) != 0) return Region::Writing::now;
  const auto same = [&](const perfdata::Mapping& m) {
    return m.file == mapping.file && base_of(m) == base_of(mapping);
  };
  const auto find = [&](const Mapped& mapped, std::uint64_t time) {
    auto m = std::ranges::upper_bound(mapped.list, time, {}, &perfdata::Mapping::from);
    while (m != mapped.list.begin()) {
      --m;
      if (address - (*m)->address >= (*m)->size) continue;
      if (!same(**m) || ((*m)->prot & PROT_WRITE) != 0) return *m;
    }
    return static_cast<const perfdata::Mapping*>(nullptr);
  };
  const auto* found = last_mapped(index, address, mapping.from, find);
  return found != nullptr && same(*found) ? Region::Writing::before : Region::Writing::none;
}

}  // namespace hodo::session
