#include "vtables.h"

#include <algorithm>
#include <utility>

#include "words.h"

namespace hodo::text {
namespace {

// The vtables of __class_type_info and its like, by which each typeinfo begins.
bool is_class_of_types(std::string_view name) { return name.starts_with("_ZTVN10__cxxabiv1"); }

}  // namespace

Pointers::Pointers(const ElfBytes& elf, std::span<const Relocation> relocations) : elf_(elf) {
  for (const Relocation& r : relocations) add(r);
  if (elf.elf().type == image::ElfType::exec) {
    for (const image::Segment& segment : elf.elf().segments) add_words(segment);
  }
  std::ranges::stable_sort(all_, {}, &Pointer::place);
}

const Pointer* Pointers::at(std::uint64_t place) const {
  const auto found = std::ranges::lower_bound(all_, place, {}, &Pointer::place);
  return found != all_.end() && found->place == place ? &*found : nullptr;
}

void Pointers::add(const Relocation& r) {
  if (r.kind == Relocation::Kind::relative) all_.push_back({.place = r.place, .to = r.addend});
  if (r.kind != Relocation::Kind::absolute && r.kind != Relocation::Kind::slot) return;
  const auto value = elf_.symbol_value(r.symbol);
  all_.push_back({r.place, value ? *value + r.addend : 0, elf_.symbol_name(r.symbol)});
}

void Pointers::add_words(const image::Segment& segment) {
  for_each_word_of<std::uint64_t>(elf_, segment, [&](std::uint64_t place, std::uint64_t word) {
    if (is_mapped(word)) all_.push_back({.place = place, .to = word});
  });
}

bool Pointers::is_mapped(std::uint64_t address) const {
  return std::ranges::any_of(elf_.elf().segments, [&](const image::Segment& s) {
    return address - s.vaddr < s.memory_size;
  });
}

Vtables::Vtables(const ElfBytes& elf, const Pointers& pointers, const TextMap& text,
                 const std::vector<ElfBytes::Export>& exports, std::vector<std::uint64_t> named)
    : elf_(elf), pointers_(pointers), text_(text), named_(std::move(named)) {
  for (const ElfBytes::Export& e : exports) {
    if (is_class_of_types(e.name))
      type_classes_.push_back({e.address + 2 * Pointers::kWord, e.name});
  }
  for (const Pointer& p : pointers.all()) {
    if (is_header(p)) read(p.place + Pointers::kWord);
  }
  std::ranges::sort(slots_, {}, &VirtualSlot::place);
}

const VirtualSlot* Vtables::at(std::uint64_t place) const {
  const auto found = std::ranges::lower_bound(slots_, place, {}, &VirtualSlot::place);
  return found != slots_.end() && found->place == place ? &*found : nullptr;
}

bool Vtables::is_typeinfo(const Pointer& p) const {
  if (p.name.starts_with("_ZTI")) return true;
  return p.to != 0 && !kind_of_type(p.to).empty();
}

std::string_view Vtables::kind_of_type(std::uint64_t typeinfo) const {
  const Pointer* const first = pointers_.at(typeinfo);
  if (first == nullptr) return {};
  if (is_class_of_types(first->name)) return first->name;
  const auto found = std::ranges::find(type_classes_, first->to, &ElfBytes::Export::address);
  return found == type_classes_.end() ? std::string_view() : found->name;
}

// Other data points to typeinfo, too; but not behind a distance that is 0 or leads back.
bool Vtables::is_header(const Pointer& p) const {
  constexpr std::int64_t kFurthest = std::int64_t{1} << 31;
  if (!elf_.is_constant(p.place) || pointers_.at(p.place - Pointers::kWord) != nullptr)
    return false;
  const auto distance = elf_.read<std::int64_t>(p.place - Pointers::kWord);
  if (!distance || *distance > 0 || *distance < -kFurthest || *distance % 8 != 0) return false;
  return is_typeinfo(p);
}

void Vtables::read(std::uint64_t begin) {
  for (std::uint64_t place = begin;; place += Pointers::kWord) {
    if (place != begin && std::ranges::binary_search(named_, place)) return;
    const Pointer* p = pointers_.at(place);
    if (p == nullptr) {
      if (elf_.word(place) != 0) return;  // a function that is never called was left out
      continue;
    }
    if (p->to != 0 && !text_.contains(p->to)) return;
    slots_.push_back({.function = p->to, .place = place, .offset = place - begin});
  }
}

}  // namespace hodo::text
