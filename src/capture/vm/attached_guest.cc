#include "attached_guest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "guest_file.h"
#include "hodo/base/page.h"
#include "hodo/guest/build_id.h"
#include "hodo/guest/code_ranges.h"
#include "hodo/guest/modules.h"
#include "hodo/relay/clock.h"

namespace hodo::capture {
namespace {

// By our clock, in ns: how often the list of tasks is read at most, and one address space.
constexpr std::uint64_t kOwnersEvery = 200'000'000, kSpaceEvery = 2'000'000'000;
// Page-table isolation: the user half's table is the page behind the kernel's, which maps the
// program too but not as code (arch/x86/mm/pti.c).
constexpr std::uint64_t kUserHalf = 1 << 12;
// What the guest says may be anything.
constexpr std::uint64_t kLargestFunction = 1 << 20, kMostCode = 1 << 30;  // bytes
constexpr perfdata::Stamp kKernel{.pid = -1, .tid = -1};

}  // namespace

AttachedGuest::AttachedGuest(Qmp& qmp) {
  auto memory = QemuMemory::open(qmp);
  if (!memory) {
    problem_ = memory.error().message;
    return;
  }
  memory_ = std::move(*memory);
  const auto processors = read_registers(qmp);
  if (!processors) {
    problem_ = processors.error().message;
    return;
  }
  auto running = guest::find_running_kernel(*memory_, *processors);
  if (!running) {
    problem_ = running.error().message;
    return;
  }
  running_ = std::move(*running);
  const guest::Kernel& kernel = running_->kernel;
  functions_ = {kernel.symbols, kernel.address_of("_etext")};
}

std::string AttachedGuest::problem() const {
  if (memory_ && memory_->error()) return memory_->error()->message;
  return problem_;
}

Status AttachedGuest::write_kernel(perfdata::Writer& writer) { return read_kernel(0, writer); }

Status AttachedGuest::read_kernel(std::uint64_t now, perfdata::Writer& writer) {
  if (!running_) return {};
  memory_->forget();
  if (Status status = read_functions(functions_, "", now, writer); !status) return status;
  for (const auto& module : guest::read_modules(kernel_memory(), running_->kernel)) {
    const guest::KernelFunctions functions(module.text.symbols,
                                           module.text.start + module.text.size);
    const Status status = read_functions(functions, " [" + module.name + "]", now, writer);
    if (!status) return status;
  }
  memory_->forget();
  return {};
}

// By function, since perf takes each for an object of its own.
Status AttachedGuest::read_functions(const guest::KernelFunctions& functions,
                                     const std::string& suffix, std::uint64_t now,
                                     perfdata::Writer& writer) {
  std::vector<std::uint8_t> code;
  for (const guest::KernelFunction& function : functions.all()) {
    code.resize(std::min(function.size, kLargestFunction));
    if (!kernel_memory().read(function.start, code)) continue;
    perfdata::Stamp stamp = kKernel;
    if (!kernel_code_.contains(function.start)) {
      const perfdata::KernelSymbol symbol{.address = function.start,
                                          .size = code.size(),
                                          .name = std::string(function.name) + suffix};
      if (Status status = writer.ksymbol(symbol, stamp); !status) return status;
    }
    const Status kept = keep(kernel_code_, function.start, code, stamp, now, writer);
    if (!kept) return kept;
  }
  return {};
}

// Code that is there for the first time counts from stamp.time on.
Status AttachedGuest::keep(Pieces& known, std::uint64_t address,
                           std::span<const std::uint8_t> bytes, perfdata::Stamp stamp,
                           std::uint64_t now, perfdata::Writer& writer) {
  std::vector<std::uint8_t>& before = known[address];
  if (std::ranges::equal(before, bytes)) return {};
  if (before.empty()) kept_ += bytes.size();
  if (kept_ > kMostCode) {
    problem_ = "it is more than 1 GiB; what came last was left out";
    return {};
  }
  if (!before.empty()) stamp.time = now;
  before.assign(bytes.begin(), bytes.end());
  return writer.code(address, bytes, stamp);
}

std::optional<guest::Task> AttachedGuest::owner_of(std::uint64_t table) {
  if (!running_) return std::nullopt;
  if (const auto found = owners_.find(table); found != owners_.end()) return found->second;
  if (owners_at_ != 0 && relay::now() - owners_at_ < kOwnersEvery) return std::nullopt;
  memory_->forget();
  // Nullopt if the list has changed while it was read.
  const auto processes = guest::read_processes(kernel_memory(), running_->kernel);
  owners_at_ = relay::now();
  owners_.clear();
  for (const auto& process : processes.value_or(std::vector<guest::Process>())) {
    for (const guest::Task& thread : process.threads) {
      if (thread.cr3 != 0)
        owners_.try_emplace(thread.cr3, process.leader).first->second.mm = thread.mm;
    }
  }
  const auto found = owners_.find(table);
  return found == owners_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::int32_t> AttachedGuest::process_of(std::uint64_t cr3, perfdata::Stamp stamp,
                                               perfdata::Writer& writer) {
  const std::uint64_t table = running_ ? running_->table_of(cr3) : cr3 >> kPageBits << kPageBits;
  const auto [found, fresh] = spaces_.try_emplace(table);
  Space& space = found->second;
  space.ran = true;
  if (!fresh) return space.pid;
  space.table = table;
  space.since = stamp.time;
  ++processes_;
  const auto owner = owner_of(table);
  space.pid = owner ? owner->pid : static_cast<std::int32_t>(table >> kPageBits & 0x7fff'ffff);
  space.mm = owner ? owner->mm : 0;
  const std::string name = owner ? owner->comm : fmt::format("cr3-{:x}", table);
  const perfdata::Comm comm{.pid = space.pid, .tid = space.pid, .comm = name, .exec = true};
  stamp.pid = stamp.tid = space.pid;
  if (Status status = writer.comm(comm, stamp); !status) return std::unexpected(status.error());
  return space.pid;
}

std::optional<std::uint64_t> AttachedGuest::next_waiting() const {
  if (!running_ || memory_->error()) return std::nullopt;
  const std::uint64_t now = relay::now();
  const Space* oldest = nullptr;
  for (const auto& [table, space] : spaces_) {
    const bool due = space.read_at == 0 || now - space.read_at >= kSpaceEvery;
    if (!space.ran || !due) continue;
    if (oldest == nullptr || space.read_at < oldest->read_at) oldest = &space;
  }
  return oldest == nullptr ? std::nullopt : std::optional(oldest->table);
}

Status AttachedGuest::read_next(std::uint64_t now, perfdata::Writer& writer) {
  const auto table = next_waiting();
  return table ? read_space(spaces_.at(*table), now, writer) : Status();
}

Status AttachedGuest::read_rest(std::uint64_t now, perfdata::Writer& writer) {
  for (auto& [table, space] : spaces_) space.read_at = 0;
  while (waiting()) {
    if (Status status = read_next(now, writer); !status) return status;
  }
  return read_kernel(now, writer);
}

// Does the address space still belong to the same process?
bool AttachedGuest::unchanged(const Space& space) const {
  const auto pgd = kernel_memory().read<std::uint64_t>(space.mm + running_->kernel.layout.mm.pgd);
  return pgd && kernel_memory().physical_address(*pgd) == space.table;
}

Status AttachedGuest::read_space(Space& space, std::uint64_t now, perfdata::Writer& writer) {
  memory_->forget();
  space.ran = false;
  space.read_at = relay::now();
  if (space.mm == 0) {  // when it was first seen, the list was older or just changing
    const auto owner = owner_of(space.table);
    if (!owner) return {};
    space.mm = owner->mm;
    const perfdata::Comm comm{.pid = space.pid, .tid = space.pid, .comm = owner->comm};
    const perfdata::Stamp stamp{.pid = space.pid, .tid = space.pid, .time = space.since};
    if (Status status = writer.comm(comm, stamp); !status) return status;
  }
  // Its table may be another process's by now, which begins when it is seen to run again.
  if (!unchanged(space)) {
    owners_.erase(space.table);
    spaces_.erase(space.table);
    return {};
  }
  const std::uint64_t since = space.since + 1;
  const Status written = write_mappings(space, space.mappings.empty() ? since : now, writer);
  if (!written) return written;
  guest::Paging paging = running_->paging;
  paging.cr3 = space.table | (running_->isolated ? kUserHalf : 0);
  const guest::VirtualMemory process(*memory_, paging);
  std::array<std::uint8_t, kPage> page{};
  for (const auto& range : guest::user_code_ranges(*memory_, paging)) {
    for (std::uint64_t at = range.start; at < range.end && kept_ <= kMostCode; at += kPage) {
      if (!process.read(at, page)) continue;
      const perfdata::Stamp stamp{.pid = space.pid, .tid = space.pid, .time = since + 1};
      const Status kept = keep(space.pages, at, page, stamp, now + 1, writer);
      if (!kept) return kept;
    }
  }
  return {};
}

Status AttachedGuest::write_mappings(Space& space, std::uint64_t time, perfdata::Writer& writer) {
  auto all = guest::read_mappings(kernel_memory(), running_->kernel, space.mm);
  guest::Paging paging = running_->paging;
  paging.cr3 = space.table;
  const guest::VirtualMemory process(*memory_, paging);
  for (const auto& mapping : all) {
    const bool known = std::ranges::find(space.mappings, mapping) != space.mappings.end();
    if (known || !mapping.executable || mapping.path.empty()) continue;
    const auto build_id = guest::read_build_id(process, all, mapping);
    const perfdata::Stamp stamp{.pid = space.pid, .tid = space.pid, .time = time};
    const Status status = write_guest_file(writer, mapping, build_id, stamp);
    if (!status) return status;
    // What was kept there was another file's.
    std::erase_if(space.pages, [&](const auto& page) { return mapping.contains(page.first); });
  }
  space.mappings = std::move(all);
  return {};
}

}  // namespace hodo::capture
