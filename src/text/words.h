// The words of a file's segments that may be addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hodo/text/elf_bytes.h"

namespace hodo::text {

// Calls visit(place, word) for each of a segment's file part, at multiples of its size.
template <class Word, class Visit>
void for_each_word_of(const ElfBytes& elf, const image::Segment& segment, Visit visit) {
  constexpr std::size_t kSize = sizeof(Word);
  const std::size_t first = (kSize - segment.vaddr % kSize) % kSize;
  ByteReader words(elf.of(segment));
  if (!words.seek(first)) return;
  for (std::uint64_t place = segment.vaddr + first;; place += kSize) {
    const auto word = words.read<Word>();
    if (!word) return;
    visit(place, std::uint64_t{*word});
  }
}

// Of words as wide as the file's addresses.
template <class Visit>
void for_each_word(const ElfBytes& elf, const image::Segment& segment, Visit visit) {
  if (elf.is_narrow()) {
    for_each_word_of<std::uint32_t>(elf, segment, visit);
  } else {
    for_each_word_of<std::uint64_t>(elf, segment, visit);
  }
}

}  // namespace hodo::text
