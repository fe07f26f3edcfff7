#include "spaces.h"

#include <sys/mman.h>

#include <algorithm>

namespace hodo::session {

const Space* Spaces::user(std::uint32_t index) {
  if (index >= spaces_.size()) return nullptr;
  std::unique_ptr<Space>& space = spaces_[index];
  if (!space) {
    const perfdata::Process& process = recording_.processes()[index];
    auto jit = std::make_unique<JitCode>(process, recording_, kept_);
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

bool Spaces::is_file(const perfdata::Mapping& mapping) const {
  if (mapping.kept != perfdata::kNone || mapping.file == perfdata::kNone) return false;
  return names_a_file(recording_.files()[mapping.file].path);
}

// Mappings are cut where a later one covers them, so what was there before lies in the list with an
// earlier time. The last one at the address that is not kept itself counts.
const perfdata::Mapping* Spaces::beneath(std::uint32_t index, const perfdata::Mapping& mapping,
                                         std::uint64_t address) const {
  if (mapping.kept == perfdata::kNone || index >= recording_.processes().size()) return nullptr;
  const auto& all = recording_.processes()[index].mappings;
  auto m = std::ranges::upper_bound(all, mapping.from, {}, &perfdata::Mapping::from);
  while (m != all.begin()) {
    --m;
    if (address - m->address >= m->size || m->kept != perfdata::kNone) continue;
    return m->executable ? &*m : nullptr;
  }
  return nullptr;
}

Region::Writing Spaces::writing(std::uint32_t index, const perfdata::Mapping& mapping,
                                std::uint64_t address) const {
  if ((mapping.prot & PROT_WRITE) != 0) return Region::Writing::now;
  const auto& all = recording_.processes()[index].mappings;
  auto m = std::ranges::upper_bound(all, mapping.from, {}, &perfdata::Mapping::from);
  while (m != all.begin()) {
    --m;
    if (address - m->address >= m->size || m->kept != perfdata::kNone) continue;
    const bool same = m->file == mapping.file &&
                      m->address - m->file_offset == mapping.address - mapping.file_offset;
    if (!same) break;
    if ((m->prot & PROT_WRITE) != 0) return Region::Writing::before;
  }
  return Region::Writing::none;
}

}  // namespace hodo::session
