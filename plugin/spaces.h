// The guest processes that are recorded: what of their code and mappings the recorder knows.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "code_blocks.h"
#include "hodo/guest/watch.h"
#include "introspection.h"
#include "known_code.h"
#include "vcpu.h"

namespace hodo::plugin {

// One life of a process: from its start or its last exec to the next.
struct Space {
  std::uint32_t id = 0;  // changes when code that was reported has to be reported again
  bool watched = false;
  bool inherited = false;  // watched because its parent was
  bool announced = false;  // the recorder knows the process
  bool ended = false;      // its first thread has; the number may come again
  std::int32_t pid = 0;
  std::string comm;               // as the recorder knows it
  std::uint64_t key = 0, mm = 0;  // of which address space
  std::uint64_t since = 0;
  struct Reported {
    guest::GuestMapping mapping;
    std::uint64_t time = 0;
  };
  std::vector<Reported> mappings;  // by address
  KnownCode code;
  // Whose code is known: where processes that share their code alternate, each asks again.
  std::unordered_set<const CodeBlock*> blocks;
};

class Spaces {
 public:
  Spaces(const Machine& machine, const Introspection& introspection)
      : machine_(machine), introspection_(introspection) {}

  guest::WatchList watch;

  // Is the task one that would be recorded?
  bool wants(const guest::Task& task) const;
  // Another task runs on `vcpu`: finds its process, or begins it. Tells the recorder what is new
  // of one that is watched, and that the processor runs it.
  void enter(Vcpu& vcpu);
  // The process gets the name of the program that it executes from here on: whether it is watched
  // is to be asked anew. A task switch in the midst of the exec has found it under its old name.
  void exec(const guest::Task& task);
  // The task ends, as `vcpu` sees it.
  void exit(Vcpu& vcpu, const guest::Task& task);
  // The processor is about to execute `code`: the recorder gets to know it if it does not yet,
  // before the packets that need it. Returns the space's id.
  std::uint32_t report_code(Vcpu& vcpu, const CodeBlock& code);
  // The blocks that were given so far are gone.
  void forget_blocks();

 private:
  Space& space_of(Vcpu& vcpu);
  void begin(Space& space, Vcpu& vcpu, bool born);
  void tell_name(Space& space, Vcpu& vcpu, std::uint64_t time, std::uint16_t flags);
  void report_mappings(Space& space, Vcpu& vcpu);
  void report_page(Space& space, Vcpu& vcpu, std::uint64_t address);
  void report_bytes(Space& space, Vcpu& vcpu, std::uint64_t address,
                    std::span<const std::uint8_t> bytes);

  const Machine& machine_;
  const Introspection& introspection_;
  std::mutex mutex_;
  const KnownKernel* kernel_ = nullptr;             // whose processes these are
  std::unordered_map<std::int32_t, Space> spaces_;  // by pid of the process
  std::uint32_t next_id_ = 0;
};

}  // namespace hodo::plugin
