// Branch lists for people: one line per branch with names on both sides.
#pragma once

#include <array>
#include <mutex>
#include <string>
#include <string_view>

#include "branch_writer.h"
#include "place_texts.h"

namespace hodo::view {

// pid/tid [cpu] time: kind from symbol+offset (object) => to symbol+offset (object) flags
class TextBranches final : public BranchWriter {
 public:
  // `names` may be null; who asks them holds `asking`.
  TextBranches(const BranchListOptions& options, const session::Names* names, std::mutex& asking);

 private:
  void enter(const session::Context& context) override;
  void write_one(const session::Context& context, const Branch& branch, std::uint64_t time,
                 std::string& out) override;
  void move_to(const session::Context& context, const Branch& branch, std::uint64_t time);
  std::string_view place(const session::Context& context, std::uint64_t address,
                         std::uint64_t time);

  const session::Names* names_;
  std::mutex& asking_;
  std::array<std::string, kBranchKinds> kinds_;  // with the spaces around them
  std::string who_;
  // What stands before the kind while neither who executes nor the time changes.
  std::string before_;
  std::uint64_t ticks_ = 0;
  bool entered_ = false;  // somebody else may execute now
  // For the space and naming below.
  PlaceTexts known_;
  std::uint64_t known_for_ = ~std::uint64_t{0};
};

}  // namespace hodo::view
