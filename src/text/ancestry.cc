#include "hodo/text/ancestry.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "vtables.h"

namespace hodo::text {
namespace {

constexpr std::uint32_t kMostBases = 1024;
// Of one class with its bases, and of one function's classes together. Files may say what they
// like.
constexpr std::size_t kMostFamily = 1024;
constexpr std::size_t kMostKin = std::size_t{1} << 20;

std::string_view string_at(const ElfBytes& elf, std::uint64_t vaddr) {
  const auto bytes = elf.at(vaddr);
  const auto end = std::ranges::find(bytes, std::uint8_t{0});
  if (end == bytes.end()) return {};
  return {reinterpret_cast<const char*>(bytes.data()),
          static_cast<std::size_t>(end - bytes.begin())};
}

void make_set(std::vector<std::uint32_t>& numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
}

bool have_common(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() && y != b.end()) {
    if (*x == *y) return true;
    ++(*x < *y ? x : y);
  }
  return false;
}

}  // namespace

// Reads typeinfo: what says of which kind it is, the name, and the bases of classes that have some.
struct Ancestry::Reader {
  Ancestry& out;
  const ElfBytes& elf;
  const Pointers& pointers;
  const Vtables& vtables;
  std::unordered_map<std::string_view, std::uint32_t> by_name = {};
  std::vector<std::uint64_t> unread = {};  // typeinfo of bases

  std::uint32_t number(std::string_view name) {
    const auto [found, is_new] =
        by_name.try_emplace(name, static_cast<std::uint32_t>(out.all_.size()));
    if (is_new) out.all_.push_back({.name = name, .bases = {}, .known = false});
    return found->second;
  }

  // The class to whose typeinfo the word points; nullopt: to none.
  std::optional<std::uint32_t> pointed_to(std::uint64_t place) {
    constexpr std::string_view kPrefix = "_ZTI";
    const Pointer* const info = pointers.at(place);
    if (info == nullptr) return std::nullopt;
    if (info->to == 0) {
      if (!info->name.starts_with(kPrefix)) return std::nullopt;
      return number(info->name.substr(kPrefix.size()));
    }
    const Pointer* const named = pointers.at(info->to + Pointers::kWord);
    const std::string_view name = named == nullptr ? std::string_view() : string_at(elf, named->to);
    if (name.empty()) return std::nullopt;
    const std::uint32_t found = number(name);
    if (!out.all_[found].known) unread.push_back(info->to);
    return found;
  }

  // The bases of the class whose typeinfo is there; nullopt: not all of them are to be had.
  std::optional<std::vector<std::uint32_t>> bases_of(std::uint64_t info) {
    const std::string_view kind = vtables.kind_of_type(info);
    if (kind == "_ZTVN10__cxxabiv117__class_type_infoE") return std::vector<std::uint32_t>();
    if (kind == "_ZTVN10__cxxabiv120__si_class_type_infoE") return those_at(info, 1);
    if (kind != "_ZTVN10__cxxabiv121__vmi_class_type_infoE") return std::nullopt;
    const auto count = elf.read<std::uint32_t>(info + 2 * Pointers::kWord + sizeof(std::uint32_t));
    if (!count || *count > kMostBases) return std::nullopt;
    return those_at(info + Pointers::kWord, *count);  // behind flags and their number
  }

  // `info`: what lies three words before the first.
  std::optional<std::vector<std::uint32_t>> those_at(std::uint64_t info, std::uint32_t count) {
    std::vector<std::uint32_t> bases;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto base = pointed_to(info + (2 + 2 * std::uint64_t{i}) * Pointers::kWord);
      if (!base) return std::nullopt;
      bases.push_back(*base);
    }
    return bases;
  }

  void read(std::uint64_t info) {
    const Pointer* const named = pointers.at(info + Pointers::kWord);
    const std::uint32_t found = number(string_at(elf, named->to));
    if (out.all_[found].known) return;
    auto bases = bases_of(info);
    if (!bases) return;
    out.all_[found].bases = std::move(*bases);
    out.all_[found].known = true;
  }

  void read_all() {
    for (const VirtualSlot& slot : vtables.slots()) {
      const std::uint64_t vtable = slot.place - slot.offset;
      if (out.by_vtable_.contains(vtable)) continue;
      const auto found = pointed_to(vtable - Pointers::kWord);
      if (found) out.by_vtable_.emplace(vtable, *found);
      while (!unread.empty()) {
        const std::uint64_t info = unread.back();
        unread.pop_back();
        read(info);
      }
    }
  }
};

Ancestry::Ancestry(const ElfBytes& elf, const Pointers& pointers, const Vtables& vtables) {
  Reader{.out = *this, .elf = elf, .pointers = pointers, .vtables = vtables}.read_all();
  std::vector<VirtualSlot> slots(vtables.slots().begin(), vtables.slots().end());
  std::ranges::stable_sort(slots, {}, &VirtualSlot::function);
  for (auto first = slots.begin(); first != slots.end() && !shares_functions_;) {
    const auto last =
        std::ranges::upper_bound(first, slots.end(), first->function, {}, &VirtualSlot::function);
    std::optional<Kin> kin;
    for (auto slot = first; slot != last && slot->function != 0 && !shares_functions_; ++slot) {
      Kin one = this->kin(std::span(&*slot, 1), slot->offset);
      if (!kin)
        kin = std::move(one);
      else
        shares_functions_ = are_strangers(*kin, one);
    }
    first = last;
  }
}

Ancestry::Kin Ancestry::kin(std::span<const VirtualSlot> slots, std::uint64_t offset) const {
  Kin out;
  for (const VirtualSlot& slot : slots) {
    if (slot.offset != offset) continue;
    const auto found = by_vtable_.find(slot.place - slot.offset);
    if (found == by_vtable_.end()) {
      out.complete = false;
    } else {
      out.holders.push_back(found->second);
    }
  }
  make_set(out.holders);
  for (const std::uint32_t number : out.holders) {
    if (out.complete) add_family(number, out);
  }
  make_set(out.all);
  return out;
}

void Ancestry::add_family(std::uint32_t number, Kin& kin) const {
  std::vector<std::uint32_t> family = {number};
  for (std::size_t i = 0; i < family.size(); ++i) {
    const Class& one = all_[family[i]];
    if (!one.known || family.size() > kMostFamily) kin.complete = false;
    if (!kin.complete) return;
    for (const std::uint32_t base : one.bases) {
      if (std::ranges::find(family, base) == family.end()) family.push_back(base);
    }
  }
  if (family.size() > kMostKin - std::min(kin.all.size(), kMostKin)) {
    kin.complete = false;
    return;
  }
  kin.all.insert(kin.all.end(), family.begin(), family.end());
}

bool Ancestry::are_strangers(const Kin& a, const Kin& b) {
  return a.complete && b.complete && !a.holders.empty() && !b.holders.empty() &&
         !have_common(a.all, b.all);
}

}  // namespace hodo::text
