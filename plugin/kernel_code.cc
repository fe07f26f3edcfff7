#include "kernel_code.h"

#include <algorithm>
#include <vector>

#include "hodo/base/page.h"
#include "hodo/guest/foreign_pointers.h"

namespace hodo::plugin {
namespace {

// Larger ones, and code without a symbol, are reported by the page.
constexpr std::uint64_t kLargestFunction = 16 * kPage;
// In the kernel's read-only data, for each module.
constexpr unsigned kMostSearches = 64;
// What code without a symbol is called (see session::KernelNames).
constexpr std::string_view kNameless = "[kernel]";

// What to report of a function together.
guest::KernelFunction piece_of(const std::optional<guest::KernelFunction>& found,
                               std::uint64_t address) {
  if (found && found->size <= kLargestFunction) return *found;
  const std::uint64_t page = address & ~(kPage - 1);
  if (!found) return {.start = page, .size = kPage, .name = kNameless};
  const std::uint64_t start = std::max(page, found->start);
  return {.start = start,
          .size = std::min(page + kPage, found->start + found->size) - start,
          .name = found->name};
}

}  // namespace

void KernelCode::report(Vcpu& vcpu, CodeBlock& code) {
  const std::lock_guard lock(mutex_);
  if (code.space == 0) report_functions(vcpu, code.block);
  // Each time: where processors execute two versions at once, either is new to the other.
  if (known_ != nullptr) report_bytes(vcpu, code.block.start, code.bytes);
  code.space = epoch();
  if (vcpu.kernel_epoch == code.space) return;
  vcpu.kernel_epoch = code.space;
  vcpu.unit().code_changed();
}

guest::KernelFunction KernelCode::function_at(const KnownKernel& known, std::uint64_t address,
                                              std::uint64_t cr3) {
  auto found = known.functions.at(address);
  if (!found) {
    found = modules_.at(introspection_.kernel_memory(cr3), known.kernel, address);
  }
  return piece_of(found, address);
}

void KernelCode::report_functions(Vcpu& vcpu, const unit::Block& block) {
  const KnownKernel* known = introspection_.kernel();
  if (known == nullptr) return;
  if (known != known_) {  // the first one, or the guest was started again
    functions_.clear();
    pointers_.clear();
    searches_.clear();
    modules_ = {};
    if (known_ != nullptr) since_ = relay::now();
    known_ = known;
  }
  const std::uint64_t cr3 = vcpu.running.cr3;
  for (std::uint64_t at = block.start; at - block.start < block.size;) {
    const guest::KernelFunction function = function_at(*known, at, cr3);
    const auto [reported, fresh] = functions_.try_emplace(function.start, function.name);
    if (fresh || reported->second != function.name) {
      reported->second = function.name;
      report_function(vcpu, function, cr3, fresh ? since_ : relay::now());
    }
    at = function.start + function.size;
  }
}

void KernelCode::report_function(Vcpu& vcpu, const guest::KernelFunction& function,
                                 std::uint64_t cr3, std::uint64_t since) {
  const relay::GuestSymbol symbol{.address = function.start, .size = function.size};
  vcpu.send(relay::RecordType::guest_symbol, bytes_of(symbol), bytes_of(std::string(function.name)),
            since);
  report_memory(vcpu, function.start, function.size, cr3);
  const std::size_t module = function.name.rfind(" [");
  if (module == std::string_view::npos) return;
  // A function of a module runs for the first time: perhaps something leads there that should not.
  // To look takes some milliseconds.
  unsigned& searches = searches_[std::string(function.name.substr(module))];
  if (searches++ < kMostSearches) report_pointers(vcpu, cr3);
}

void KernelCode::report_pointers(Vcpu& vcpu, std::uint64_t cr3) {
  const auto found =
      guest::foreign_pointers(introspection_.kernel_memory(cr3), known_->kernel,
                              [this](std::uint64_t target) { return modules_.contains(target); });
  for (const guest::ForeignPointer& pointer : found) {
    if (!pointers_.insert(pointer.slot).second) continue;
    const relay::GuestSymbol symbol{.address = pointer.slot, .size = sizeof(pointer.target)};
    vcpu.send(relay::RecordType::guest_symbol, bytes_of(symbol), bytes_of(pointer.name), since_);
  }
  for (const std::uint64_t slot : pointers_) report_memory(vcpu, slot, sizeof(slot), cr3);
}

void KernelCode::report_memory(Vcpu& vcpu, std::uint64_t address, std::size_t size,
                               std::uint64_t cr3) {
  std::vector<std::uint8_t> bytes(size);
  if (introspection_.kernel_memory(cr3).read(address, bytes)) report_bytes(vcpu, address, bytes);
}

void KernelCode::report_bytes(Vcpu& vcpu, std::uint64_t address,
                              std::span<const std::uint8_t> bytes) {
  const auto news = code_.learn(address, bytes);
  if (news == KnownCode::News::none) return;
  const bool changed = news == KnownCode::News::changed;
  const relay::GuestCode record{.task = {}, .address = address};
  vcpu.send(relay::RecordType::guest_code, bytes_of(record), bytes,
            changed ? relay::now() : since_ + 1);
  if (changed) epoch_.fetch_add(1, std::memory_order_release);
}

}  // namespace hodo::plugin
