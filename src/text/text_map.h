// Marks for every byte of an ELF file's executable segments.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hodo/text/elf_bytes.h"
#include "hodo/text/module.h"
#include "kept_marks.h"

namespace hodo::text {

class TextMap {
 public:
  struct Stretch {  // the file part of one executable segment
    std::uint64_t begin = 0;
    std::span<const std::uint8_t> bytes;
    std::vector<Marks> marks;  // one per byte, from unmark() to keep()
    KeptMarks kept;            // behind keep() or set()
    std::uint64_t end() const { return begin + bytes.size(); }
  };

  // Without marks: unmark() is to follow, or set() of every stretch. Errors: unsupported for more
  // than Module::kLargestText bytes; malformed where executable segments overlap each other, in
  // memory or in the file.
  static Result<TextMap> make(const ElfBytes& elf);

  // null outside of the text.
  const Stretch* find(std::uint64_t vaddr) const;
  bool contains(std::uint64_t vaddr) const { return find(vaddr) != nullptr; }
  Marks marks(std::uint64_t vaddr) const {
    const Stretch* s = find(vaddr);
    if (s == nullptr) return 0;
    return s->marks.empty() ? s->kept.at(vaddr - s->begin) : s->marks[vaddr - s->begin];
  }
  std::span<const std::uint8_t> bytes(std::uint64_t vaddr) const {
    const Stretch* s = find(vaddr);
    return s == nullptr ? std::span<const std::uint8_t>() : s->bytes.subspan(vaddr - s->begin);
  }
  // Before keep(). False outside of the text.
  bool mark(std::uint64_t vaddr, Marks marks);
  std::span<const Stretch> stretches() const { return stretches_; }
  // Nothing is known of any byte.
  void unmark();
  // Nothing more will be marked.
  void keep();
  // The marks of a stretch, which has so many bytes.
  void set(std::size_t stretch, KeptMarks marks) { stretches_[stretch].kept = std::move(marks); }

 private:
  std::vector<Stretch> stretches_;  // by address
};

}  // namespace hodo::text
