// What a recording of a running machine learns of its guest through the machine's monitor: whose
// its address spaces are, and the code that they and the kernel have in memory.
//
// The guest runs meanwhile, and the trace's buffers fill. So the kernel is read before tracing
// begins, an address space when it has been seen to run, one at a time, and again every few seconds
// while it goes on to run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hodo/guest/functions.h"
#include "hodo/guest/mappings.h"
#include "hodo/guest/running.h"
#include "hodo/guest/tasks.h"
#include "hodo/perfdata/writer.h"
#include "qemu_machine.h"

namespace hodo::capture {

class AttachedGuest {
 public:
  // `qmp` must outlive it. Finds the guest's kernel; where that fails, problem() says why, address
  // spaces have no names, and no code is read.
  explicit AttachedGuest(Qmp& qmp);

  // Writes the kernel's code and names, as they count from the beginning of the recording.
  Status write_kernel(perfdata::Writer& writer);
  // The number of the file's process that address space `cr3` (bits 51:5 of the register) belongs
  // to, which runs from stamp.time on: the guest's own, or where that is not known the page of its
  // table. The first time that process is written.
  Result<std::int32_t> process_of(std::uint64_t cr3, perfdata::Stamp stamp,
                                  perfdata::Writer& writer);
  // Does an address space wait for being read?
  bool waiting() const { return next_waiting().has_value(); }
  // Reads one that waits. `now` is the trace's time, in ns: what is another code than was read
  // before counts from then on.
  Status read_next(std::uint64_t now, perfdata::Writer& writer);
  // All that wait, and the kernel again.
  Status read_rest(std::uint64_t now, perfdata::Writer& writer);

  std::size_t processes() const { return processes_; }
  // Why the guest's code is not in the file, or not all of it; empty: nothing is in the way.
  std::string problem() const;

 private:
  using Pieces = std::map<std::uint64_t, std::vector<std::uint8_t>>;  // by address
  struct Space {
    std::uint64_t table = 0;
    std::int32_t pid = 0;
    std::uint64_t mm = 0;       // 0: nobody knows whose it is yet
    std::uint64_t since = 0;    // ns, when it was first seen to run
    bool ran = true;            // since it was read last
    std::uint64_t read_at = 0;  // by our clock; 0: never
    std::vector<guest::GuestMapping> mappings;
    Pieces pages;
  };

  guest::VirtualMemory kernel_memory() const { return {*memory_, running_->paging}; }
  std::optional<guest::Task> owner_of(std::uint64_t table);
  std::optional<std::uint64_t> next_waiting() const;  // its table
  bool unchanged(const Space& space) const;
  Status read_space(Space& space, std::uint64_t now, perfdata::Writer& writer);
  Status write_mappings(Space& space, std::uint64_t time, perfdata::Writer& writer);
  Status read_kernel(std::uint64_t now, perfdata::Writer& writer);
  Status read_functions(const guest::KernelFunctions& functions, const std::string& suffix,
                        std::uint64_t now, perfdata::Writer& writer);
  Status keep(Pieces& known, std::uint64_t address, std::span<const std::uint8_t> bytes,
              perfdata::Stamp stamp, std::uint64_t now, perfdata::Writer& writer);

  std::unique_ptr<QemuMemory> memory_;
  std::optional<guest::RunningKernel> running_;
  std::string problem_;
  guest::KernelFunctions functions_;
  Pieces kernel_code_;
  std::uint64_t kept_ = 0;                       // bytes of code, without their other versions
  std::size_t processes_ = 0;                    // written
  std::map<std::uint64_t, guest::Task> owners_;  // by table
  std::uint64_t owners_at_ = 0;                  // when they were read
  std::map<std::uint64_t, Space> spaces_;        // by table
};

}  // namespace hodo::capture
