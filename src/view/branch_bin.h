// Branch lists as fixed-size records (docs/formats/branches-bin.md).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

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

  // Branches of the same time in one go, right into the output's buffer: this is what programs read
  // that count time by the branch.
  bool branches(const session::Context& context, std::span<const Branch> batch) override {
    BinBranch record{.cpu = context.cpu, .pid = context.pid, .tid = context.tid};
    if (context.cr3) record.cr3 = *context.cr3;
    while (!batch.empty()) {
      const std::uint64_t ticks = batch.front().time;
      const auto end =
          std::ranges::find_if(batch, [=](const Branch& b) { return b.time != ticks; });
      const auto count = static_cast<std::size_t>(end - batch.begin());
      if (wanted_time(ticks, record.time)) append(record, batch.first(count));
      batch = batch.subspan(count);
    }
    return out().ok();
  }

 private:
  using Words = std::array<std::uint64_t, sizeof(BinBranch) / sizeof(std::uint64_t)>;

  void write(const session::Context& context, const Branch& branch, std::uint64_t) override {
    branches(context, {&branch, 1});
  }

  // `record` has what the branches have in common. Word by word from registers: a record put
  // together in memory would be read back before its parts are there.
  void append(const BinBranch& record, std::span<const Branch> batch) {
    const Words same = std::bit_cast<Words>(record);
    const std::uint64_t tid = same[5] & 0xffffffff;
    std::string& buffer = out().buffer();
    const std::size_t used = buffer.size();
    buffer.resize_and_overwrite(used + batch.size() * sizeof(Words), [&](char* data, std::size_t) {
      char* to = data + used;
      for (const Branch& branch : batch) {
        put(to, same[0]);
        put(to + 8, branch.from);
        put(to + 16, branch.to);
        put(to + 24, same[3]);
        put(to + 32, same[4]);
        put(to + 40, tid | std::uint64_t{static_cast<std::uint8_t>(branch.kind)} << 32 |
                         std::uint64_t{branch.flags} << 40 | std::uint64_t{branch.cycles} << 48);
        to += wanted_outcome(branch) ? sizeof(BinBranch) : 0;
      }
      return static_cast<std::size_t>(to - data);
    });
    out().checkpoint();
  }
  static void put(char* to, std::uint64_t word) { std::memcpy(to, &word, sizeof word); }
};

}  // namespace hodo::view
