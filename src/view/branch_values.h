// Branch lists for programs: CSV and JSON lines.
#pragma once

#include <array>
#include <string>

#include "branch_flags.h"
#include "branch_writer.h"
#include "number.h"

namespace hodo::view {

// time,cpu,pid,tid,cr3,from,to,kind,flags; absent values empty.
class CsvBranches final : public BranchWriter {
 public:
  explicit CsvBranches(const BranchListOptions& options);
  std::string head() const override;

 private:
  void enter(const session::Context& context) override;
  void write_one(const session::Context& context, const Branch& branch, std::uint64_t time,
                 std::string& out) override;

  std::string who_;  // ",cpu,pid,tid,cr3," of the current batch
  std::array<std::string, kFlagCombinations> flag_texts_;  // by flags
};

// One object per line with the CSV's names; absent values have no member.
class JsonBranches final : public BranchWriter {
 public:
  explicit JsonBranches(const BranchListOptions& options);

 private:
  void enter(const session::Context& context) override;
  void write_one(const session::Context& context, const Branch& branch, std::uint64_t time,
                 std::string& out) override;

  std::string who_;
  std::array<std::string, kFlagCombinations> flag_texts_;
};

}  // namespace hodo::view
