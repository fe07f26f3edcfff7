// Which code ran in a segment of an index.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "hodo/ask/index.h"
#include "hodo/flow/transfers.h"

namespace hodo::ask {

class RanCode {
 public:
  // Numbers granules in `all`, which must outlive this.
  explicit RanCode(std::vector<Granule>& all);

  void add(std::uint32_t space, std::span<const flow::CodeLine> lines);
  // How many different granules since take(), and whether there were too many.
  std::size_t size() const { return here_.size(); }
  bool everywhere() const { return everywhere_; }
  // Their numbers, in order.
  std::vector<std::uint32_t> take();

 private:
  static constexpr std::size_t kRecent = std::size_t{1} << 14;
  static constexpr std::size_t kMostGranules = std::size_t{1} << 22;
  // What is longer is nobody's line.
  static constexpr std::uint64_t kLongestLine = std::uint64_t{1} << 12;

  void line(std::uint64_t first, std::uint64_t last);  // numbers of granules
  // Its number in all_; kNone: there are too many.
  std::uint32_t number_of(std::uint64_t granule);

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  using Space = std::unordered_map<std::uint64_t, std::uint32_t>;  // numbers in all_
  struct Recent {
    std::uint64_t behind = 0;  // granule + 1
    std::uint32_t number = 0;
  };

  std::vector<Granule>& all_;
  std::vector<std::uint32_t> seen_;  // by number in all_: the segment that it was seen in last
  std::unordered_map<std::uint32_t, Space> spaces_;
  Space* space_ = nullptr;
  std::uint32_t space_number_ = 0;
  std::vector<Recent> recent_;  // of the space
  std::vector<std::uint32_t> here_;
  std::uint32_t segment_ = 1;
  bool everywhere_ = false;
};

}  // namespace hodo::ask
