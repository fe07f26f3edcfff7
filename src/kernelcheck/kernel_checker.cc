#include "hodo/kernelcheck/kernel_checker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include "hodo/check/recent.h"
#include "kernel_rules.h"

namespace hodo::kernelcheck {
namespace {

constexpr std::size_t kMostFindings = 1000;
constexpr std::size_t kMostEdges = 1 << 20;  // distinct ones that are remembered
constexpr std::size_t kNone = ~std::size_t{0};

bool is_kernel(std::uint64_t address) { return address >> 63 != 0; }

// A distinct branch, as long as the names of its ends stay the same.
struct Key {
  std::uint64_t from, to;
  std::uint32_t space, generation;
  BranchKind kind;
  friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    constexpr std::uint64_t kOdd = 0x9e37'79b9'7f4a'7c15;
    std::uint64_t hash = key.from * kOdd ^ key.to;
    hash = hash * kOdd ^ (std::uint64_t{key.space} << 32 | key.generation);
    return hash * kOdd ^ static_cast<std::uint64_t>(key.kind);
  }
};

// Read-only data that was recorded because it leads to a module is named "SYMBOL+0xOFFSET".
bool is_pointer(const session::KernelSymbol& symbol) {
  return symbol.size == 8 && symbol.name.find("+0x") != std::string::npos;
}

// An image, and how far from where it was linked to it runs.
struct LinkedKernel {
  const KernelImage* image = nullptr;
  std::uint64_t bias = 0;
};

// By the distance that most of the functions in the recording have.
std::optional<LinkedKernel> link(const KernelImage& image,
                                 const std::vector<session::KernelSymbol>& recorded) {
  std::map<std::uint64_t, std::size_t> votes;
  for (const session::KernelSymbol& symbol : recorded) {
    if (const auto linked = image.address_of(symbol.name)) ++votes[symbol.address - *linked];
  }
  const auto most =
      std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
  if (most == votes.end() || most->second <= recorded.size() / 2) return std::nullopt;
  return LinkedKernel{&image, most->first};
}

}  // namespace

class KernelChecker::Impl {
 public:
  Impl(session::Session& session, std::vector<session::KernelSymbol> pointers,
       std::optional<LinkedKernel> image)
      : session_(session), pointers_(std::move(pointers)), image_(image) {}

  void batch(const session::Context& context, std::span<const Branch> batch);

  const std::vector<check::Finding>& findings() const { return found_; }
  std::uint64_t checked() const { return checked_; }

 private:
  struct Thread {
    check::Recent recent;
    std::vector<std::size_t> open;  // findings that still collect what comes after
    std::string traced;             // the function that called its tracer last
    std::string caller;             // the one that called through a retpoline last
  };
  // What is known of a distinct branch.
  struct Known {
    std::size_t finding = kNone;
    std::string traced, caller;  // becomes that of the thread; empty: stays
  };

  Known judge(const session::Context& context, const Branch& branch, const Thread& thread);
  std::size_t find(KernelVerdict verdict, const session::Context& context, const Branch& branch,
                   const Thread& thread);
  std::string slot_to(const session::Context& context, const Branch& branch) const;
  std::string origin(KernelRule rule, const Thread& thread) const;
  std::optional<KernelVerdict> compare_text(const session::Context& context,
                                            const session::Place& place, std::uint64_t address,
                                            std::uint64_t time);
  void collect_after(Thread& thread, const Branch& branch);

  session::Session& session_;
  std::vector<session::KernelSymbol> pointers_;
  std::optional<LinkedKernel> image_;
  std::set<std::tuple<std::uint64_t, std::uint32_t>> compared_;  // functions, and in which version
  std::map<std::pair<std::int32_t, std::int32_t>, Thread> threads_;
  std::unordered_map<Key, Known, KeyHash> edges_;
  std::map<std::string, std::size_t> by_cause_;
  std::vector<check::Finding> found_;
  std::uint64_t checked_ = 0;
};

void KernelChecker::Impl::batch(const session::Context& context, std::span<const Branch> batch) {
  Thread& thread = threads_[{context.pid, context.tid}];
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Branch& branch = batch[i];
    if (!thread.open.empty()) collect_after(thread, branch);
    if (!is_kernel(branch.from) || !is_kernel(branch.to) || (branch.flags & kNotTaken) != 0) {
      continue;
    }
    ++checked_;
    if (edges_.size() >= kMostEdges) edges_.clear();
    const std::uint32_t generation = session_.names().generation(context.space, branch.time);
    const auto [known, fresh] = edges_.try_emplace(
        Key{branch.from, branch.to, context.space, generation, branch.kind}, Known());
    if (fresh) known->second = judge(context, branch, thread);
    const Known& edge = known->second;
    if (!edge.traced.empty()) thread.traced = edge.traced;
    if (!edge.caller.empty()) thread.caller = edge.caller;
    if (edge.finding == kNone) continue;
    check::Finding& finding = found_[edge.finding];
    if (++finding.count != 1) continue;
    finding.before = thread.recent.list(flow::Repeats{}, {}, batch.first(i));
    thread.open.push_back(edge.finding);
  }
  thread.recent.add(flow::Repeats{.walked = batch});
}

KernelChecker::Impl::Known KernelChecker::Impl::judge(const session::Context& context,
                                                      const Branch& branch, const Thread& thread) {
  const session::Names& names = session_.names();
  const session::Place from = names.place(context.space, branch.from, branch.time);
  const session::Place to = names.place(context.space, branch.to, branch.time);
  Known out;
  if (is_traced_entry(branch, from, to)) out.traced = from.symbol;
  if (is_retpoline(to) && !is_retpoline(from)) out.caller = from.symbol;
  const std::string slot = to.offset == 0 ? slot_to(context, branch) : std::string();
  auto verdict = judge_kernel_branch(branch, from, to, slot);
  if (verdict) out.finding = find(std::move(*verdict), context, branch, thread);
  if (out.finding != kNone) return out;
  auto changed = compare_text(context, from, branch.from, branch.time);
  if (!changed) changed = compare_text(context, to, branch.to, branch.time);
  if (changed) out.finding = find(std::move(*changed), context, branch, thread);
  return out;
}

std::size_t KernelChecker::Impl::find(KernelVerdict verdict, const session::Context& context,
                                      const Branch& branch, const Thread& thread) {
  const check::Rule& rule = kernel_rule(verdict.rule);
  const auto [index, fresh] =
      by_cause_.try_emplace(std::string(rule.name) + ' ' + verdict.reason, found_.size());
  if (!fresh) return index->second;
  if (found_.size() == kMostFindings) return index->second = kNone;
  found_.push_back({.rule = &rule,
                    .grade = verdict.grade,
                    .reason = verdict.reason + origin(verdict.rule, thread),
                    .who = context,
                    .branch = branch});
  return index->second;
}

// The whole function that has `address`, once for each version of the kernel's code.
std::optional<KernelVerdict> KernelChecker::Impl::compare_text(const session::Context& context,
                                                               const session::Place& place,
                                                               std::uint64_t address,
                                                               std::uint64_t time) {
  constexpr std::uint64_t kLargest = 64 << 10;
  if (!image_ || place.object != "[kernel]" || place.size == 0 || place.size > kLargest) {
    return std::nullopt;
  }
  const std::uint64_t start = address - place.offset;
  const std::uint32_t version = session_.names().generation(context.space, time);
  if (!compared_.emplace(start, version).second) return std::nullopt;
  std::vector<std::uint8_t> code(place.size);
  code.resize(session_.read_code(context.space, start, time, code));
  const auto found = image_->image->difference(start - image_->bias, code, image_->bias);
  if (!found) return std::nullopt;
  const std::uint64_t offset = found->address + image_->bias - start;
  return KernelVerdict{
      KernelRule::text, check::Grade::impossible,
      fmt::format("{}+{:#x} has {:02x} where the image has {:02x}, and none of the kernel's tables "
                  "lets that place change",
                  place.symbol, offset, fmt::join(found->is, ""), fmt::join(found->was, ""))};
}

std::string KernelChecker::Impl::slot_to(const session::Context& context,
                                         const Branch& branch) const {
  for (const session::KernelSymbol& pointer : pointers_) {
    std::array<std::uint8_t, 8> bytes{};
    std::uint64_t target = 0;
    if (session_.read_code(context.space, pointer.address, branch.time, bytes) != bytes.size()) {
      continue;
    }
    std::memcpy(&target, bytes.data(), sizeof(target));
    if (target == branch.to) return pointer.name;
  }
  return {};
}

// The function of the kernel that is behind a branch: that of a trampoline or retpoline does not
// say.
std::string KernelChecker::Impl::origin(KernelRule rule, const Thread& thread) const {
  if (rule == KernelRule::detour && !thread.traced.empty()) {
    return "; it is what " + thread.traced + " was traced with";
  }
  if (rule == KernelRule::pointer && !thread.caller.empty()) {
    return "; " + thread.caller + " calls it";
  }
  return {};
}

void KernelChecker::Impl::collect_after(Thread& thread, const Branch& branch) {
  std::erase_if(thread.open, [&](std::size_t index) {
    auto& after = found_[index].after;
    after.push_back(branch);
    return after.size() >= check::Finding::kAfter;
  });
}

KernelChecker::KernelChecker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KernelChecker::~KernelChecker() = default;

Result<std::unique_ptr<KernelChecker>> KernelChecker::of(session::Session& session,
                                                         const KernelImage* image) {
  std::vector<session::KernelSymbol> symbols = session.kernel_symbols();
  if (symbols.empty()) {
    return fail(ErrorCode::unsupported,
                "the recording has no code of a guest's kernel; record with hodo vm record "
                "--kernel");
  }
  const auto linked = image == nullptr ? std::nullopt : link(*image, symbols);
  if (image != nullptr && !linked) {
    return fail(ErrorCode::unsupported,
                "the image is of another kernel than the one that was recorded");
  }
  std::erase_if(symbols, [](const session::KernelSymbol& symbol) { return !is_pointer(symbol); });
  return std::unique_ptr<KernelChecker>(
      new KernelChecker(std::make_unique<Impl>(session, std::move(symbols), linked)));
}

bool KernelChecker::branches(const session::Context& context, std::span<const Branch> batch) {
  impl_->batch(context, batch);
  return true;
}

std::vector<check::Finding> KernelChecker::findings() const { return impl_->findings(); }
std::uint64_t KernelChecker::checked() const { return impl_->checked(); }

}  // namespace hodo::kernelcheck
