// Memory that no file backs, by the names that the kernel gives it in perf's records
// (perf_event_mmap_event): [heap], [stack], [vdso], else //anon.
//
// The stack of each thread counts as a stack, not only the main thread's, as the kernel has it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace hodo::plugin {

class Areas {
 public:
  struct Range {
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // behind the last byte
    bool contains(std::uint64_t address) const { return address >= start && address < end; }
  };
  struct Area {
    Range range;
    std::string_view name;
  };

  // brk returned this. The heap begins where the first call found it.
  void set_break(std::uint64_t address);
  // The kernel's page of code; QEMU 8.2 and later make their own, in memory without a name.
  void set_vdso(Range range) { vdso_ = range; }
  // A thread begins with its stack pointer in this memory, and ends.
  void add_stack(std::int32_t tid, Range range);
  void remove_stack(std::int32_t tid);

  // The part around `address` of the memory `mapped` that has one name, without what was told
  // before; it counts as told from now on. nullopt: it has been told.
  std::optional<Area> tell(std::uint64_t address, Range mapped);
  // Something else is there now.
  void forget(Range range);

 private:
  std::optional<Range> heap_;
  std::optional<Range> vdso_;
  std::map<std::int32_t, Range> stacks_;
  std::map<std::uint64_t, std::uint64_t> told_;  // start -> end; none overlap
};

}  // namespace hodo::plugin
