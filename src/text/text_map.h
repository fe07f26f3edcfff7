// Marks for every byte of an ELF file's executable segments.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hodo/text/elf_bytes.h"
#include "hodo/text/module.h"

namespace hodo::text {

class TextMap {
 public:
  struct Stretch {  // the file part of one executable segment
    std::uint64_t begin = 0;
    std::span<const std::uint8_t> bytes;
    std::span<Marks> marks;  // one per byte, when unmark() or set() has been called
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
    return s == nullptr ? Marks{0} : s->marks[vaddr - s->begin];
  }
  std::span<const std::uint8_t> bytes(std::uint64_t vaddr) const {
    const Stretch* s = find(vaddr);
    return s == nullptr ? std::span<const std::uint8_t>() : s->bytes.subspan(vaddr - s->begin);
  }
  // False outside of the text.
  bool mark(std::uint64_t vaddr, Marks marks);
  std::span<const Stretch> stretches() const { return stretches_; }
  // Nothing is known of any byte.
  void unmark();
  // The marks of a stretch are those, which live as long as `owner`, the same for all stretches;
  // false if they are not one per byte.
  bool set(std::size_t stretch, std::span<Marks> marks, std::shared_ptr<void> owner);

 private:
  std::vector<Stretch> stretches_;     // by address
  std::shared_ptr<void> marks_owner_;  // copies share them
};

}  // namespace hodo::text
