// Branch lists for people: one line per branch with names on both sides.
#pragma once

#include <string>
#include <unordered_map>

#include "branch_base.h"

namespace hodo::view {

// pid/tid [cpu] time: kind from symbol+offset (object) => to symbol+offset (object) flags
class TextBranches final : public BranchListBase {
 public:
  TextBranches(const BranchListOptions& options, Output& out, const session::Names* names)
      : BranchListBase(options, out), names_(names) {}

 private:
  void enter(const session::Context& context) override;
  void write(const session::Context& context, const Branch& branch, std::uint64_t time) override;
  const std::string& place(const session::Context& context, std::uint64_t address,
                           std::uint64_t time);

  const session::Names* names_;
  std::string who_;
  // Places already put into words, for the space and generation below; bounded.
  std::unordered_map<std::uint64_t, std::string> known_;
  std::uint64_t known_for_ = ~std::uint64_t{0};
};

}  // namespace hodo::view
