// Branch lists as fixed-size records (docs/formats/branches-bin.md).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <string>

#include "branch_writer.h"

namespace hodo::view {

class BinBranches final : public BranchWriter {
 public:
  using BranchWriter::BranchWriter;

  std::string head() const override {
    const auto size =
        std::bit_cast<std::array<char, sizeof(std::uint64_t)>>(std::uint64_t{sizeof(BinBranch)});
    return "HODOBR01" + std::string(size.data(), size.size());
  }

  // Branches of the same time in one go: this is what programs read that count time by the branch.
  void write(const session::Context& context, std::span<const Branch> batch,
             std::string& out) override {
    BinBranch record{.cpu = context.cpu, .pid = context.pid, .tid = context.tid};
    if (context.cr3) record.cr3 = *context.cr3;
    while (!batch.empty()) {
      const std::uint64_t ticks = batch.front().time;
      const auto end =
          std::ranges::find_if(batch, [=](const Branch& b) { return b.time != ticks; });
      const auto count = static_cast<std::size_t>(end - batch.begin());
      if (wanted_time(ticks, record.time)) append(record, batch.first(count), out);
      batch = batch.subspan(count);
    }
  }

 private:
  using Words = std::array<std::uint64_t, sizeof(BinBranch) / sizeof(std::uint64_t)>;

  void write_one(const session::Context& context, const Branch& branch, std::uint64_t,
                 std::string& out) override {
    write(context, {&branch, 1}, out);
  }

  // `record` has what the branches have in common. Word by word from registers: a record put
  // together in memory would be read back before its parts are there.
  void append(const BinBranch& record, std::span<const Branch> batch, std::string& out) const {
    const Words same = std::bit_cast<Words>(record);
    const std::uint64_t tid = same[5] & 0xffffffff;
    const std::size_t used = out.size();
    out.resize_and_overwrite(used + batch.size() * sizeof(Words), [&](char* data, std::size_t) {
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
  }
  static void put(char* to, std::uint64_t word) { std::memcpy(to, &word, sizeof word); }
};

}  // namespace hodo::view
