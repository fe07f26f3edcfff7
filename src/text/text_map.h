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
  const Stretch* find(std::uint64_t vaddr) const {
    if (longest_ >= stretches_.size()) return nullptr;
    const Stretch& s = stretches_[longest_];  // nearly always the only one that matters
    return vaddr - s.begin < s.bytes.size() ? &s : search(vaddr);
  }
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
  bool mark(std::uint64_t vaddr, Marks marks) {
    const Stretch* found = find(vaddr);
    if (found == nullptr) return false;
    Stretch& s = stretches_[static_cast<std::size_t>(found - stretches_.data())];
    s.marks[vaddr - s.begin] |= marks;
    return true;
  }
  std::span<const Stretch> stretches() const { return stretches_; }
  // Nothing is known of any byte.
  void unmark();
  // Nothing more will be marked.
  void keep();
  // The marks of a stretch, which has so many bytes.
  void set(std::size_t stretch, KeptMarks marks) { stretches_[stretch].kept = std::move(marks); }

 private:
  const Stretch* search(std::uint64_t vaddr) const;

  std::vector<Stretch> stretches_;  // by address
  std::size_t longest_ = 0;
};

}  // namespace hodo::text
