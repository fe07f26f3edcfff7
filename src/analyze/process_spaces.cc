#include "hodo/analyze/process_spaces.h"

#include <algorithm>

namespace hodo::analyze {
namespace {

// A guest chooses what it writes to CR3.
constexpr std::size_t kMostSpaces = 64;

// The kernel loads the next task's CR3 while it is still the one before that runs, and its own
// threads borrow whatever there is: only what user code ran under is a process's own.
bool in_user_mode(const Branch& branch) {
  const auto user = [](std::uint64_t address) { return address != 0 && address >> 63 == 0; };
  return user(branch.from) || user(branch.to);
}

}  // namespace

bool ProcessSpaces::branches(const session::Context& context, std::span<const Branch> batch) {
  Seen& seen = seen_[context.space];
  seen.branches += batch.size();
  const bool news = context.cr3 && !seen.cr3s.contains(*context.cr3);
  if (news && seen.cr3s.size() < kMostSpaces && std::ranges::any_of(batch, in_user_mode)) {
    seen.cr3s.insert(*context.cr3);
  }
  return true;
}

}  // namespace hodo::analyze
