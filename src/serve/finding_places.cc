#include "finding_places.h"

#include <map>
#include <unordered_map>

namespace hodo::serve {
namespace {

class Places final : public ask::ThreadSink {
 public:
  explicit Places(const view::Checked& checked)
      : checked_(checked), places_(checked.findings.size()) {
    for (std::size_t i = 0; i < checked.findings.size(); ++i) {
      by_source_.emplace(checked.findings[i].branch.from, i);
    }
    open_ = checked.findings.size();
  }

  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    const ask::ThreadId thread = ask::thread_of(who);
    std::uint64_t& instructions = instructions_[thread];
    std::uint64_t number = first - 1;
    for (const Branch& branch : batch) {
      instructions += branch.insns;
      if ((branch.flags & kNotTaken) != 0) continue;
      ++number;
      const auto [begin, end] = by_source_.equal_range(branch.from);
      for (auto it = begin; it != end; ++it) {
        look(it->second, thread, branch, {number, instructions});
      }
    }
    return open_ != 0;
  }

  std::vector<std::optional<FindingPlace>> take() { return std::move(places_); }

 private:
  void look(std::size_t finding, const ask::ThreadId& thread, const Branch& branch,
            const FindingPlace& place) {
    const check::Finding& found = checked_.findings[finding];
    const bool same = !places_[finding] && ask::thread_of(found.who) == thread &&
                      found.branch.time == branch.time && found.branch.to == branch.to &&
                      found.branch.kind == branch.kind;
    if (!same) return;
    places_[finding] = place;
    --open_;
  }

  const view::Checked& checked_;
  std::vector<std::optional<FindingPlace>> places_;
  std::unordered_multimap<std::uint64_t, std::size_t> by_source_;  // address of the branch: finding
  std::map<ask::ThreadId, std::uint64_t> instructions_;
  std::size_t open_ = 0;  // that are not found yet
};

}  // namespace

Result<std::vector<std::optional<FindingPlace>>> places_of(session::Session& session,
                                                           const ask::WalkOptions& walk,
                                                           const view::Checked& checked) {
  Places places(checked);
  if (!checked.findings.empty()) {
    auto outcome = ask::walk(session, walk, places);
    if (!outcome) return std::unexpected(outcome.error());
  }
  return places.take();
}

}  // namespace hodo::serve
