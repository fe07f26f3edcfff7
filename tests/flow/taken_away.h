// Code of which pages are missing, and what decoding with it may say: nothing that is not in the
// path that all of the code gives.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hodo/flow/decoder.h"
#include "hodo/image/code.h"

namespace hodo::flow {

class WithoutPages final : public image::CodeSource {
 public:
  // `code` must outlive this. `page` is a power of two.
  WithoutPages(const image::CodeSource& code, std::uint64_t page, std::set<std::uint64_t> missing)
      : code_(code), page_(page), missing_(std::move(missing)) {}

  image::CodeSpan find(std::uint64_t address, std::uint64_t time) const override;

 private:
  const image::CodeSource& code_;
  std::uint64_t page_;
  std::set<std::uint64_t> missing_;  // their first addresses
};

// Every branch, those not taken included, and the losses between them.
struct Listed final : BranchSink {
  std::vector<Branch> branches;
  std::vector<Loss> losses;
  Stats stats;

  Listed(std::span<const std::uint8_t> trace, const image::CodeSource& code, Config config);
  void on_branches(std::span<const Branch> batch) override {
    branches.insert(branches.end(), batch.begin(), batch.end());
  }
  void on_loss(const Loss& loss) override { losses.push_back(loss); }
};

// Whether `part` is `whole` with pieces taken out, each of which a `lost` stands for: the pieces
// that are left are in it, in this order, branch by branch with their times and instructions.
// Empty if so, otherwise what is not.
std::string not_in(const Listed& whole, const Listed& part);

// How many branches of `whole` are known without the pages: all but those from where the path comes
// into one until a packet names an address that is in none. In between there are outcomes alone,
// and nobody knows of which branches. Of traces in which every return has its address.
std::size_t knowable(const Listed& whole, std::uint64_t page,
                     const std::set<std::uint64_t>& missing);
// How many were listed, without the marks of losses.
std::size_t listed(const Listed& part);

// The pages that were executed.
std::set<std::uint64_t> pages_of(const Listed& whole, std::uint64_t page);

}  // namespace hodo::flow
