// Branch lists as fixed-size records (docs/formats/branches-bin.md).
#pragma once

#include <array>
#include <span>
#include <utility>

#include "branch_base.h"

namespace hodo::view {

class BinBranches final : public BranchListBase {
 public:
  using BranchListBase::BranchListBase;

  void begin() override {
    out().write("HODOBR01");
    std::uint64_t size = sizeof(BinBranch);
    out().write({reinterpret_cast<const char*>(&size), sizeof size});
  }

  // Record after record in one go: this is what programs read that count time by the branch.
  bool branches(const session::Context& context, std::span<const Branch> batch) override {
    BinBranch record{.cpu = context.cpu, .pid = context.pid, .tid = context.tid};
    if (context.cr3) record.cr3 = *context.cr3;
    std::size_t used = 0;
    for (const Branch& branch : batch) {
      if (!wanted(branch, record.time)) continue;
      record.from = branch.from;
      record.to = branch.to;
      record.kind = static_cast<std::uint8_t>(branch.kind);
      record.flags = branch.flags;
      record.cycles = branch.cycles;
      records_[used++] = record;
      if (used == records_.size()) write_out(std::exchange(used, 0));
    }
    write_out(used);
    return out().ok();
  }

 private:
  void write(const session::Context& context, const Branch& branch, std::uint64_t) override {
    branches(context, {&branch, 1});
  }
  void write_out(std::size_t count) {
    out().write({reinterpret_cast<const char*>(records_.data()), count * sizeof(BinBranch)});
  }

  std::array<BinBranch, 128> records_;
};

}  // namespace hodo::view
