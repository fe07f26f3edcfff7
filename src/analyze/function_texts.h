// The code of a file's functions, read in a few large pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "hodo/isa/insn.h"
#include "hodo/symbol/line_store.h"
#include "hodo/symbol/symbol_table.h"

namespace hodo::analyze {

class FunctionTexts {
 public:
  // Copies what code there is at a file's own address, up to where it ends; how many bytes that is.
  using Read = std::function<std::size_t(std::uint64_t address, std::span<std::uint8_t> to)>;

  // `functions` do not overlap, are in order of address, and must outlive it.
  FunctionTexts(std::span<const symbol::Symbol* const> functions, isa::Mode mode, const Read& read);

  std::size_t size() const { return functions_.size(); }
  // Of the n-th, up to where there is none.
  std::span<const std::uint8_t> operator[](std::size_t n) const {
    return std::span(bytes_).subspan(places_[n].begin, places_[n].size);
  }

  // How many blocks each has where nobody entered it. Taking all of a large file apart takes a
  // while, so for the same code they are found again in `store`, if there is one.
  std::vector<std::uint32_t> block_counts(symbol::LineStore* store) const;

 private:
  struct Place {
    std::size_t begin = 0;  // in bytes_
    std::size_t size = 0;
  };
  void begin_key();
  void add(std::span<const symbol::Symbol* const> near, const Read& read);
  void end_key();

  std::span<const symbol::Symbol* const> functions_;
  isa::Mode mode_;
  // The code and which functions it is of: what block_counts() are found by.
  std::vector<std::uint8_t> bytes_;
  std::vector<Place> places_;
};

}  // namespace hodo::analyze
