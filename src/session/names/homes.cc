#include "hodo/session/homes.h"

namespace hodo::session {
namespace {

constexpr unsigned kKnownBits = 10;
constexpr std::uint32_t kFirstPair = 1u << 31;  // behind all numbers of eras

// What is mapped is often no longer than a page where the recording kept it.
std::size_t place_of(std::uint32_t space, std::uint64_t address) {
  const std::uint64_t h = ((address >> 12) ^ std::uint64_t{space} << 40) * 0x9e3779b97f4a7c15;
  return static_cast<std::size_t>(h >> (64 - kKnownBits));
}

bool in_kernel(std::uint64_t address) { return address >> 63 != 0; }

std::uint64_t moved(std::uint64_t address, std::uint64_t start, std::uint64_t to) {
  return address == 0 ? 0 : address - start + to;
}

}  // namespace

Homes::Homes(const Names& names, std::size_t most_pairs) : names_(names), most_pairs_(most_pairs) {
  for (std::vector<Known>& known : known_) known.resize(std::size_t{1} << kKnownBits);
}

Home Homes::of(std::uint32_t space, std::uint64_t from, std::uint64_t to, std::uint64_t time) {
  const bool kernel = (in_kernel(from) || from == 0) && (in_kernel(to) || to == 0);
  if (kernel && (from | to) != 0) {
    return {from, to, time, kKernelSpace, era(kKernelSpace, time)};
  }
  const Known& from_part = from == 0 ? nowhere_ : around(known_[0], space, from, time);
  const Known& to_part = to == 0 ? nowhere_ : around(known_[1], space, to, time);
  const bool in_files =
      (from == 0 || from_part.part != kNoPart) && (to == 0 || to_part.part != kNoPart);
  const Pair* pair = in_files ? pair_of(from_part, to_part, space, time) : nullptr;
  if (pair == nullptr) return {from, to, time, space, era(space, time)};
  return {moved(from, from_part.around.start, pair->from_start),
          moved(to, to_part.around.start, pair->to_start), pair->time, pair->space,
          kFirstPair + pair->number};
}

const Homes::Known& Homes::around(std::vector<Known>& all, std::uint32_t space,
                                  std::uint64_t address, std::uint64_t time) {
  Known& known = all[place_of(space, address)];
  const FileAround& file = known.around;
  if (known.space != space || address < file.first || address > file.last || time < file.from ||
      time >= file.until) {
    learn(known, space, address, time);
  }
  return known;
}

void Homes::learn(Known& known, std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  known = {.space = space, .around = names_.file_around(space, address, time)};
  const FileAround::Part& part = known.around.part;
  if (part.file == FileAround::kNoFile) return;
  const auto next = static_cast<std::uint32_t>(parts_.size());
  known.part = parts_.try_emplace(part, next).first->second;
}

std::uint32_t Homes::era(std::uint32_t space, std::uint64_t time) {
  KnownEra& known = eras_[space == kKernelSpace ? 1 : 0];
  if (space != known.space || time < known.era.from || time >= known.era.until) {
    known = {space, names_.era(space, time)};
  }
  return known.era.number;
}

const Homes::Pair* Homes::pair_of(const Known& from, const Known& to, std::uint32_t space,
                                  std::uint64_t time) {
  const Parts parts{from.part, to.part};
  if (last_pair_ != nullptr && parts == last_) return last_pair_;
  auto found = pairs_.find(parts);
  if (found == pairs_.end()) {
    if (pairs_.size() >= most_pairs_) return nullptr;
    const auto next = static_cast<std::uint32_t>(pairs_.size());
    const Pair fresh{next, space, time, from.around.start, to.around.start};
    found = pairs_.emplace(parts, fresh).first;
  }
  last_ = parts;
  return last_pair_ = &found->second;
}

}  // namespace hodo::session
