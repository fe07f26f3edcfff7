// One process's memory over time.
#pragma once

#include <cstdint>
#include <span>

#include "hodo/image/code.h"
#include "hodo/image/content.h"
#include "hodo/image/history.h"

namespace hodo::image {

// The mappings of one process (or of a raw image) with the times at which they came and went. A
// later event replaces what it overlaps and leaves the rest, so bytes that a recorder kept ("text
// poke", down to one byte) are mapped over a file in the same way as another file. Add all events,
// in any order, then find(); events of equal time count in the order in which they were added.
// Times are the trace's.
//
// find() splits its answers wherever any event, earlier or later, begins or ends: to read an
// instruction that may lie across such a border use read_code().
class AddressSpace final : public CodeSource {
 public:
  // Maps slice.bytes() at `start`. Of a range longer than the slice the rest has no bytes (the
  // kernel would raise SIGBUS there), of a shorter one only that much is mapped. `start + length`
  // may not exceed 2^64; what lies above is ignored.
  void map(std::uint64_t start, std::uint64_t length, Slice slice, std::uint64_t time);
  void unmap(std::uint64_t start, std::uint64_t length, std::uint64_t time);
  // exec: all mappings go.
  void clear(std::uint64_t time);
  // fork: from `time` on this space has what `parent` had at that time. The parent must outlive
  // this space; its events may be added later.
  void fork_from(const AddressSpace& parent, std::uint64_t time);

  CodeSpan find(std::uint64_t address, std::uint64_t time) const override;

 private:
  struct Mapped {
    Slice slice;
    std::uint64_t start = 0;  // where the slice's first byte lies
  };
  History<Mapped> history_;
};

// Copies the bytes from `address` on as they are at `time`, over the borders of spans, until `out`
// is full or unmapped memory begins. Gives the number of bytes copied.
std::size_t read_code(const CodeSource& source, std::uint64_t address, std::uint64_t time,
                      std::span<std::uint8_t> out);

}  // namespace hodo::image
