// Branch lists as fixed-size records (docs/formats/branches-bin.md).
#pragma once

#include <cstring>

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

 private:
  void write(const session::Context& context, const Branch& branch, std::uint64_t time) override {
    BinBranch record{.time = time, .from = branch.from, .to = branch.to};
    if (context.cr3) record.cr3 = *context.cr3;
    record.cpu = context.cpu;
    record.pid = context.pid;
    record.tid = context.tid;
    record.kind = static_cast<std::uint8_t>(branch.kind);
    record.flags = branch.flags;
    record.cycles = branch.cycles;
    out().write({reinterpret_cast<const char*>(&record), sizeof record});
  }
};

}  // namespace hodo::view
