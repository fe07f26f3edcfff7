// Drives a processor's debug store: BTS records by the driver, on a model of a processor. A kernel
// or a hypervisor gives the same driver its own registers (MsrBus) and memory (DsMemory) instead.
#include <cstdint>
#include <cstdio>
#include <map>
#include <vector>

#include "hodo/driver/ds_driver.h"
#include "hodo/hw/cpuid_dump.h"
#include "hodo/unit/processor.h"

namespace {

// What `cpuid -r` prints on a Skylake, as far as branch records need it.
constexpr const char* kSkylake =
    "CPU 0:\n"
    "   0x00000000 0x00: eax=0x00000007 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n"
    "   0x00000001 0x00: eax=0x000506e3 ebx=0x00100800 ecx=0x7ffafbff edx=0xbfebfbff\n"
    "   0x00000007 0x00: eax=0x00000000 ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n"
    "   0x80000000 0x00: eax=0x80000000 ebx=0x00000000 ecx=0x00000000 edx=0x00000000\n";

class Memory : public hodo::hw::DsMemory {
 public:
  std::span<std::uint8_t> at(std::uint64_t address, std::size_t size) override {
    auto next = areas_.upper_bound(address);
    if (next == areas_.begin()) return {};
    auto& [start, bytes] = *--next;
    const std::uint64_t offset = address - start;
    if (offset > bytes.size() || size > bytes.size() - offset) return {};
    return std::span(bytes).subspan(offset, size);
  }
  hodo::Result<std::uint64_t> allocate(std::size_t size) override {
    const std::uint64_t address = next_;
    next_ += (size + 0x1fff) & ~std::uint64_t{0xfff};
    areas_.emplace(address, std::vector<std::uint8_t>(size));
    return address;
  }
  void release(std::uint64_t address) override { areas_.erase(address); }

 private:
  std::map<std::uint64_t, std::vector<std::uint8_t>> areas_;
  std::uint64_t next_ = 0x10000;
};

struct Machine {
  hodo::driver::DsDriver* driver = nullptr;
  hodo::driver::DsRecords records;
  unsigned interrupts = 0;
};

}  // namespace

int main() {
  const auto cpuid = hodo::hw::CpuidDump::parse(kSkylake);
  if (!cpuid) return 1;
  Memory memory;
  Machine machine;
  // The buffer's threshold was reached: the handler empties it and goes on.
  const auto interrupted = [](void* self) {
    Machine& m = *static_cast<Machine*>(self);
    ++m.interrupts;
    if (!m.driver->handle_interrupt(m.records)) std::printf("a record cannot be read\n");
  };
  hodo::unit::Processor cpu({.cpuid = &*cpuid}, memory, {interrupted, &machine});

  auto driver = hodo::driver::DsDriver::open(
      *cpuid, cpu, memory, {.bts = hodo::driver::BtsOptions{.records = 64, .os = true}});
  if (!driver) {
    std::printf("%s\n", driver.error().message.c_str());
    return 1;
  }
  machine.driver = &*driver;
  if (!driver->start()) return 1;
  for (std::uint64_t n = 1; n <= 100; ++n) {  // the program that runs there
    cpu.branch({.from = n, .to = n + 0x1000, .cls = hodo::hw::BranchClass::rel_jmp});
  }
  if (!driver->stop() || !driver->drain(machine.records)) return 1;
  const hodo::hw::BtsRecord& last = machine.records.bts.back();
  std::printf("%zu records, %u interrupt, the last %llx -> %llx\n", machine.records.bts.size(),
              machine.interrupts, static_cast<unsigned long long>(last.from),
              static_cast<unsigned long long>(last.to));
  return driver->close() ? 0 : 1;
}
